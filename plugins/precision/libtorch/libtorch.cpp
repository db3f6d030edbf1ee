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

// fp16 gradients below 6e-8 would become 0, so the loss is scaled up before the backward.
class Fp16 final : public assay::Precision {
 public:
  assay::PrecisionPolicy policy() const override {
    assay::PrecisionPolicy policy;
    policy.autocast = at::kHalf;
    policy.loss_scaling = true;
    return policy;
  }
};

}  // namespace

ASSAY_PLUGINS(assay::plugin<Fp32>("fp32", "Everything in fp32, matrix products without TF32."),
              assay::plugin<Tf32>("tf32", "fp32 with TF32 matrix products; needs a CUDA device."),
              assay::plugin<Bf16>("bf16", "fp32 parameters, matrix products in bf16 (autocast)."),
              assay::plugin<Fp16>(
                  "fp16",
                  "fp32 parameters, matrix products in fp16 (autocast), dynamic loss scaling."))
