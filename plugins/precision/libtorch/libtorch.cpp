#include <assay/precision.h>

namespace {

class Fp32 final : public assay::Precision {
 public:
  assay::PrecisionPolicy policy() const override { return {}; }
};

class Tf32 final : public assay::Precision {
 public:
  static std::vector<std::string> devices() { return {"cuda"}; }

  assay::PrecisionPolicy policy() const override {
    assay::PrecisionPolicy policy;
    policy.tf32 = true;
    return policy;
  }
};

class Bf16 final : public assay::Precision {
 public:
  assay::PrecisionPolicy policy() const override {
    assay::PrecisionPolicy policy;
    policy.autocast = at::kBFloat16;
    return policy;
  }
};

class Bf16Weights final : public assay::Precision {
 public:
  assay::PrecisionPolicy policy() const override {
    assay::PrecisionPolicy policy;
    policy.parameters = at::kBFloat16;
    policy.fp32_master = true;
    return policy;
  }
};

// A step smaller than half of a weight's spacing is lost.
class Bf16Alone final : public assay::Precision {
 public:
  assay::PrecisionPolicy policy() const override {
    assay::PrecisionPolicy policy;
    policy.parameters = at::kBFloat16;
    return policy;
  }
};

// fp16 gradients below 6e-8 would become 0, so the loss is scaled up before the backward.
class ScaledLoss : public assay::Precision {
 public:
  static std::vector<assay::ParameterInfo> options() {
    return {assay::left_out_at_default(assay::real_parameter(
                "initial_scale", default_scale, 1, 0x1p60,
                "The loss scale at the first step; halved where gradients overflow.")),
            assay::left_out_at_default(assay::integer_parameter(
                "growth_interval", default_interval, 1, 1 << 30,
                "Steps without an overflow after which the scale is doubled."))};
  }

  explicit ScaledLoss(const assay::Options& options)
      : scale_(options.empty() ? default_scale : assay::real_option(options, "initial_scale")),
        interval_(options.empty() ? default_interval
                                  : assay::integer_option(options, "growth_interval")) {}

  assay::PrecisionPolicy policy() const override {
    assay::PrecisionPolicy policy;
    policy.loss_scaling = true;
    policy.initial_loss_scale = scale_;
    policy.loss_scale_growth_interval = interval_;
    return policy;
  }

 private:
  static constexpr double default_scale = 65536;
  static constexpr std::int64_t default_interval = 2000;

  double scale_;
  std::int64_t interval_;
};

class Fp16 final : public ScaledLoss {
 public:
  using ScaledLoss::ScaledLoss;

  assay::PrecisionPolicy policy() const override {
    assay::PrecisionPolicy policy = ScaledLoss::policy();
    policy.autocast = at::kHalf;
    return policy;
  }
};

class Fp16Weights final : public ScaledLoss {
 public:
  using ScaledLoss::ScaledLoss;

  assay::PrecisionPolicy policy() const override {
    assay::PrecisionPolicy policy = ScaledLoss::policy();
    policy.parameters = at::kHalf;
    policy.fp32_master = true;
    return policy;
  }
};

}  // namespace

ASSAY_PLUGINS(
    assay::plugin<Fp32>("fp32", "Everything in fp32, matrix products without TF32."),
    assay::plugin<Tf32>("tf32", "fp32 with TF32 matrix products; needs a CUDA device."),
    assay::plugin<Bf16>("bf16", "fp32 parameters, matrix products in bf16 (autocast)."),
    assay::plugin<Bf16Weights>("bf16_master",
                               "Parameters, activations and gradients in bf16; the optimizer "
                               "updates fp32 copies of the parameters."),
    assay::plugin<Bf16Alone>("bf16_alone",
                             "Everything in bf16, optimizer included, without fp32 copies."),
    assay::plugin<Fp16>(
        "fp16", "fp32 parameters, matrix products in fp16 (autocast), dynamic loss scaling."),
    assay::plugin<Fp16Weights>("fp16_master",
                               "Parameters, activations and gradients in fp16, dynamic loss "
                               "scaling; the optimizer updates fp32 copies of the parameters."))
