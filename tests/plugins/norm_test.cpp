#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <torch/csrc/autograd/autograd.h>

#include "model/random.h"
#include "reference/reference.h"
#include "support.h"

namespace assay {
namespace {

struct NormTested {
  std::string variant;
  at::ScalarType dtype;
};

class NormConformance : public testing::TestWithParam<NormTested> {};

at::Tensor leaf(const at::Tensor& values, at::ScalarType dtype) {
  return values.to(dtype).detach().requires_grad_();
}

TEST_P(NormConformance, ForwardAndGradientsAgreeWithFloat64) {
  const auto& [variant, dtype] = GetParam();
  const auto plugin = test::load<NormBoundary>("norm", variant, variant);
  bool has_bias = false;
  bool centred = false;
  throw_unless_ok(plugin->traits(has_bias, centred));
  PrecisionPolicy policy;
  policy.parameters = dtype;
  const double tolerance = model::tolerance(policy);

  for (const auto& sizes : std::vector<std::vector<std::int64_t>>{
           {1, 2}, {3, 7}, {2, 5, 64}, {1, 31, 769}, {4, 3, 2, 128}}) {
    const auto generator = model::seeded_generator(at::kCPU, 23);
    const auto columns = sizes.back();
    NormInputs in;
    in.x = leaf(at::randn(sizes, generator, at::kFloat) * 3 + 0.5, dtype);
    in.weight = leaf(at::rand({columns}, generator, at::kFloat) + 0.5, at::kFloat);
    if (has_bias) in.bias = leaf(at::randn({columns}, generator, at::kFloat), at::kFloat);
    at::Tensor out;
    throw_unless_ok(plugin->forward(in, out));
    ASSERT_EQ(out.sizes(), in.x.sizes());
    EXPECT_EQ(out.scalar_type(), dtype);
    const auto dout = at::randn(sizes, generator, at::kFloat);
    torch::autograd::backward({out}, {dout.to(dtype)});

    NormInputs wide;
    wide.x = leaf(in.x, at::kDouble);
    wide.weight = leaf(in.weight, at::kDouble);
    if (has_bias) wide.bias = leaf(in.bias, at::kDouble);
    const auto reference = model::reference_norm(wide, centred);
    torch::autograd::backward({reference}, {dout.to(dtype).to(at::kDouble)});
    EXPECT_LT(model::relative_error(out, reference), tolerance);
    EXPECT_LT(model::relative_error(in.weight.grad(), wide.weight.grad()), 2 * tolerance);
    if (has_bias) {
      EXPECT_LT(model::relative_error(in.bias.grad(), wide.bias.grad()), 2 * tolerance);
    }
    // Two centred columns are ±1 whatever x is, so the gradient vanishes.
    if (columns > 2) {
      EXPECT_LT(model::relative_error(in.x.grad(), wide.x.grad()), 2 * tolerance);
    }
  }
}

std::vector<NormTested> norms_tested() {
  std::vector<NormTested> all;
  for (const char* variant : {"rmsnorm", "rmsnorm_libtorch", "layernorm"}) {
    for (const auto dtype : {at::kFloat, at::kBFloat16}) all.push_back({variant, dtype});
  }
  return all;
}

std::string norm_tested_name(const testing::TestParamInfo<NormTested>& tested) {
  return tested.param.variant + (tested.param.dtype == at::kFloat ? "_fp32" : "_bf16");
}

INSTANTIATE_TEST_SUITE_P(Cpu, NormConformance, testing::ValuesIn(norms_tested()), norm_tested_name);

// Squares of 1e5 are beyond fp16, those of 1e-4 below it: statistics must be taken in fp32.
TEST(NormInFp16, SurvivesLargeAndSmallInputs) {
  for (const char* variant : {"rmsnorm", "layernorm"}) {
    const auto plugin = test::load<NormBoundary>("norm", variant, variant);
    for (const double magnitude : {3e4, 1e-2}) {
      NormInputs in;
      in.x = (at::randn({4, 64}, model::seeded_generator(at::kCPU, 1), at::kFloat).clamp(-2, 2) *
              magnitude)
                 .to(at::kHalf);
      in.weight = at::ones({64}, at::kFloat);
      if (std::string(variant) == "layernorm") in.bias = at::zeros({64}, at::kFloat);
      at::Tensor out;
      throw_unless_ok(plugin->forward(in, out));
      EXPECT_LT(model::relative_error(out, model::reference_norm(in, in.bias.defined())), 2e-3)
          << variant << " " << magnitude;
    }
  }
}

}  // namespace
}  // namespace assay
