#include <ATen/core/grad_mode.h>
#include <ATen/ops/full.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <assay/reference.h>

#include <cmath>

#include "fused_here.h"
#include "gpu/device.h"
#include "plugins/support.h"

namespace assay {
namespace {

struct Variant {
  std::string name;
  at::ScalarType gradients = at::kFloat;
  std::optional<at::ScalarType> copies;
  double max_grad_norm = 0;
  double grad_scale = 0;  // 0: no loss scaling
};

void PrintTo(const Variant& variant, std::ostream* stream) { *stream << variant.name; }

// Loshchilov and Hutter's algorithm 2 in float64 on the CPU.
struct Reference {
  std::vector<at::Tensor> parameters, first_moments, second_moments;
  std::vector<int> steps;

  void step(const std::vector<at::Tensor>& gradients, const OptimizerInputs& in) {
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      ++steps[i];
      const double correction1 = 1 - std::pow(in.beta1, steps[i]);
      const double correction2 = 1 - std::pow(in.beta2, steps[i]);
      auto &p = parameters[i], &m = first_moments[i], &v = second_moments[i];
      m = in.beta1 * m + (1 - in.beta1) * gradients[i];
      v = in.beta2 * v + (1 - in.beta2) * gradients[i] * gradients[i];
      p = p - in.learning_rate *
                  (m / correction1 / ((v / correction2).sqrt() + in.eps) + in.weight_decay * p);
    }
  }
};

at::Tensor drawn(std::int64_t elements, std::uint64_t seed) {
  return at::randn({elements}, reference::seeded_generator(at::kCPU, seed),
                   at::TensorOptions(at::kDouble));
}

class GpuAdamW : public testing::TestWithParam<Variant> {
 protected:
  void SetUp() override {
    if (const std::string why = test::why_no_fused(); !why.empty()) GTEST_SKIP() << why;
    plugin_ = test::load<CompileBoundary>("compile", "fused", "fused");
    ops_ = model::textbook_ops();
    throw_unless_ok(plugin_->select(ops_, {}));
    in_.learning_rate = 0.02;
    in_.beta2 = 0.95;
    in_.weight_decay = 0.1;
    in_.max_grad_norm = GetParam().max_grad_norm;
    const auto fp32 = at::TensorOptions().device(cuda).dtype(at::kFloat);
    if (GetParam().grad_scale > 0) {
      in_.grad_scale = at::full({1}, GetParam().grad_scale, fp32);
      in_.found_inf = at::zeros({1}, fp32);
    }
  }

  // `offset`: elements between the begin of each allocation and what the tensor shows; `steps` have
  // been taken before.
  void add(std::int64_t elements, std::int64_t offset = 0, at::ScalarType dtype = at::kFloat,
           int steps = 0) {
    const auto placed = [&](const at::Tensor& values, at::ScalarType stored) {
      const auto options = at::TensorOptions().device(cuda).dtype(stored);
      at::Tensor view = at::zeros({elements + offset}, options).narrow(0, offset, elements);
      return view.copy_(values);
    };
    const at::Tensor zeros = at::zeros({elements}, at::kDouble);
    const at::Tensor values = drawn(elements, 100 + in_.parameters.size());
    in_.parameters.push_back(placed(values, dtype));
    in_.gradients.push_back(placed(zeros, GetParam().gradients));
    in_.first_moments.push_back(placed(zeros, dtype));
    in_.second_moments.push_back(placed(zeros, dtype));
    in_.steps.push_back(at::full({}, steps, at::TensorOptions().device(cuda).dtype(at::kFloat)));
    if (GetParam().copies) in_.low_precision.push_back(placed(zeros, *GetParam().copies));
    reference_.parameters.push_back(in_.parameters.back().to(at::kCPU, at::kDouble));
    reference_.first_moments.push_back(zeros);
    reference_.second_moments.push_back(zeros);
    reference_.steps.push_back(steps);
  }

  // New gradients, as they are stored; returns them unscaled and limited.
  std::vector<at::Tensor> draw_gradients(int step) {
    const double scale = GetParam().grad_scale > 0 ? GetParam().grad_scale : 1;
    std::vector<at::Tensor> gradients;
    double squares = 0;
    for (std::size_t i = 0; i < in_.gradients.size(); ++i) {
      const std::uint64_t seed = 1000 * static_cast<std::uint64_t>(step) + i;
      in_.gradients[i].copy_(drawn(in_.gradients[i].numel(), seed) * scale * std::pow(0.3, step));
      gradients.push_back(in_.gradients[i].to(at::kCPU, at::kDouble) / scale);
      squares += gradients.back().square().sum().item<double>();
    }
    const double limit = GetParam().max_grad_norm;
    const double factor = limit > 0 ? std::min(1.0, limit / std::sqrt(squares)) : 1;
    for (at::Tensor& gradient : gradients) gradient = gradient * factor;
    return gradients;
  }

  void step_both(int step, bool overflow = false) {
    const at::NoGradGuard no_grad;
    const auto gradients = draw_gradients(step);
    if (in_.found_inf.defined()) in_.found_inf.fill_(overflow ? 1 : 0);
    if (overflow) in_.gradients.back().fill_(INFINITY);
    ops_.optimizer(in_);
    if (overflow) return;
    reference_.step(gradients, in_);
    if (GetParam().max_grad_norm == 0 || GetParam().grad_scale > 0) return;
    const double rounding = GetParam().gradients == at::kFloat ? 1e-6 : 1e-2;
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      EXPECT_TRUE(in_.gradients[i].to(at::kCPU, at::kDouble).allclose(gradients[i], rounding, 1e-6))
          << "gradient " << i << " of step " << step << " was not limited";
    }
  }

  void expect_agreement() const {
    // A few roundings of values of up to 5.
    for (std::size_t i = 0; i < in_.parameters.size(); ++i) {
      SCOPED_TRACE(testing::Message() << "tensor " << i << ", " << in_.parameters[i].numel());
      const auto near = [](const at::Tensor& value, const at::Tensor& right) {
        if (right.numel() == 0) return 0.0;
        return (value.to(at::kCPU, at::kDouble) - right).abs().max().item<double>();
      };
      EXPECT_LT(near(in_.parameters[i], reference_.parameters[i]), 3e-6);
      EXPECT_LT(near(in_.first_moments[i], reference_.first_moments[i]), 1e-6);
      EXPECT_LT(near(in_.second_moments[i], reference_.second_moments[i]), 1e-6);
      EXPECT_EQ(in_.steps[i].item<double>(), reference_.steps[i]);
      if (!GetParam().copies) continue;
      EXPECT_TRUE(in_.low_precision[i].equal(in_.parameters[i].to(*GetParam().copies)));
    }
  }

  std::unique_ptr<CompileBoundary> plugin_;  // destroyed last
  Ops ops_;
  OptimizerInputs in_;
  Reference reference_;
};

TEST_P(GpuAdamW, AgreesWithFloat64AtAwkwardSizes) {
  for (const std::int64_t elements : {1, 3, 4, 1023, 4097, 16384, 16385, 70001}) {
    for (const std::int64_t offset : {0, 1, 4}) add(elements, offset);
  }
  for (int step = 0; step < 4; ++step) step_both(step);
  expect_agreement();
}

TEST_P(GpuAdamW, AgreesWithFloat64OverManyTensors) {
  for (int i = 0; i < 500; ++i) add(1 + 7 * (i % 40), 0, at::kFloat, i % 11);
  add(100'000);
  for (int step = 0; step < 3; ++step) step_both(step);
  expect_agreement();
}

// Of float64 ones the kernel knows nothing; the limit is that of all together.
TEST_P(GpuAdamW, LeavesOtherDtypesToTheTextbook) {
  add(1000);
  add(500, 0, at::kDouble);
  add(0);
  add(20);
  for (int step = 0; step < 3; ++step) step_both(step);
  expect_agreement();
}

TEST_P(GpuAdamW, LeavesOutAStepWithAnOverflow) {
  if (GetParam().grad_scale == 0) GTEST_SKIP() << "there is no loss scaling";
  for (const std::int64_t elements : {5, 4099}) add(elements);
  for (const bool overflow : {false, true, true, false}) step_both(overflow ? 7 : 1, overflow);
  EXPECT_EQ(reference_.steps, std::vector<int>({2, 2}));
  expect_agreement();
}

INSTANTIATE_TEST_SUITE_P(
    , GpuAdamW,
    testing::Values(Variant{"fp32"}, Variant{"fp32_copies_bf16", at::kFloat, at::kBFloat16},
                    Variant{"fp32_copies_fp16", at::kFloat, at::kHalf},
                    Variant{"bf16", at::kBFloat16},
                    Variant{"bf16_copies_bf16", at::kBFloat16, at::kBFloat16},
                    Variant{"fp16_copies_fp16", at::kHalf, at::kHalf},
                    Variant{"fp32_limited", at::kFloat, at::kBFloat16, 2},
                    Variant{"bf16_limited", at::kBFloat16, at::kBFloat16, 2},
                    Variant{"fp32_within_the_limit", at::kFloat, {}, 1e6},
                    Variant{"fp32_scaled", at::kFloat, at::kHalf, 0, 1024},
                    Variant{"fp16_scaled", at::kHalf, at::kHalf, 0, 64},
                    Variant{"fp32_scaled_and_limited", at::kFloat, {}, 2, 1024}),
    [](const testing::TestParamInfo<Variant>& tested) { return tested.param.name; });

}  // namespace
}  // namespace assay
