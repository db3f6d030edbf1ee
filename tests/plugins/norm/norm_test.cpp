#include <ATen/core/grad_mode.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <assay/reference.h>
#include <torch/csrc/autograd/autograd.h>

#include "model/differentiable.h"
#include "model/random.h"
#include "plugins/support.h"

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
  NormTraits traits;
  throw_unless_ok(plugin->traits(traits));
  const auto [has_bias, centred, has_add_backward] = traits;
  PrecisionPolicy policy;
  policy.parameters = dtype;
  const double tolerance = reference::tolerance(policy);

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
    const auto reference = reference::differentiable_norm(wide, centred);
    torch::autograd::backward({reference}, {dout.to(dtype).to(at::kDouble)});
    EXPECT_LT(reference::relative_error(out, reference), tolerance);
    EXPECT_LT(reference::relative_error(in.weight.grad(), wide.weight.grad()), 2 * tolerance);
    if (has_bias) {
      EXPECT_LT(reference::relative_error(in.bias.grad(), wide.bias.grad()), 2 * tolerance);
    }
    // Two centred columns are ±1 whatever x is, so the gradient vanishes.
    if (columns > 2) {
      EXPECT_LT(reference::relative_error(in.x.grad(), wide.x.grad()), 2 * tolerance);
    }
  }
}

std::vector<NormTested> norms_tested() {
  std::vector<NormTested> all;
  for (const char* variant : {"rmsnorm", "rmsnorm_libtorch", "layernorm", "layernorm_basic"}) {
    for (const auto dtype : {at::kFloat, at::kBFloat16}) all.push_back({variant, dtype});
  }
  return all;
}

std::string norm_tested_name(const testing::TestParamInfo<NormTested>& tested) {
  return tested.param.variant + (tested.param.dtype == at::kFloat ? "_fp32" : "_bf16");
}

INSTANTIATE_TEST_SUITE_P(Cpu, NormConformance, testing::ValuesIn(norms_tested()), norm_tested_name);

// d(sum of out · dout) by an element, from both sides, against each gradient of the variant and the
// closed form that looks compare kernels' with.
TEST(NormGradcheck, GradientsAreThoseOfFiniteDifferences) {
  constexpr double step = 1e-6;
  for (const char* variant : {"rmsnorm", "rmsnorm_libtorch", "layernorm", "layernorm_basic"}) {
    SCOPED_TRACE(variant);
    const auto plugin = test::load<NormBoundary>("norm", variant, variant);
    const auto generator = model::seeded_generator(at::kCPU, 29);
    const auto random = [&](at::IntArrayRef sizes) {
      return at::randn(sizes, generator, at::kDouble).requires_grad_();
    };
    NormInputs in;
    in.x = random({3, 7});
    in.weight = random({7});
    const bool centred = std::string(variant).starts_with("layernorm");
    if (centred) in.bias = random({7});
    const auto dout = at::randn({3, 7}, generator, at::kDouble);
    const auto loss = [&] {
      at::Tensor out;
      throw_unless_ok(plugin->forward(in, out));
      return (out * dout).sum();
    };
    torch::autograd::backward({loss()}, {});
    const at::NoGradGuard no_grad;
    const NormGradients closed = textbook_backward(in, centred, dout);
    for (const auto& [leaf, of_closed] :
         {std::pair(in.x, closed.dx), {in.weight, closed.dweight}, {in.bias, closed.dbias}}) {
      if (!leaf.defined()) continue;
      const auto values = leaf.detach().view({-1}), gradient = leaf.grad().view({-1});
      const at::Tensor closed_gradient = of_closed.view({-1});
      for (std::int64_t i = 0; i < values.numel(); ++i) {
        const double value = values[i].item<double>();
        values[i] = value + step;
        const double above = loss().item<double>();
        values[i] = value - step;
        const double below = loss().item<double>();
        values[i] = value;
        const double difference = (above - below) / (2 * step);
        EXPECT_NEAR(gradient[i].item<double>(), difference, 1e-7) << i;
        EXPECT_NEAR(closed_gradient[i].item<double>(), difference, 1e-7) << i;
      }
    }
  }
}

// Squares of 1e5 are beyond fp16, those of 1e-4 below it: statistics must be taken in fp32.
TEST(NormInFp16, SurvivesLargeAndSmallInputs) {
  for (const char* variant : {"rmsnorm", "layernorm", "layernorm_basic"}) {
    const auto plugin = test::load<NormBoundary>("norm", variant, variant);
    for (const double magnitude : {3e4, 1e-2}) {
      NormInputs in;
      in.x = (at::randn({4, 64}, model::seeded_generator(at::kCPU, 1), at::kFloat).clamp(-2, 2) *
              magnitude)
                 .to(at::kHalf);
      in.weight = at::ones({64}, at::kFloat);
      if (std::string(variant).starts_with("layernorm")) {
        in.bias = at::zeros({64}, at::kFloat);
      }
      at::Tensor out;
      throw_unless_ok(plugin->forward(in, out));
      EXPECT_LT(
          reference::relative_error(out, reference::differentiable_norm(in, in.bias.defined())),
          2e-3)
          << variant << " " << magnitude;
    }
  }
}

// RMSNorm with a backward of its own for the entry with a residual.
struct OwnBackward : Norm {
  at::Tensor forward(const NormInputs& in) override {
    return reference::differentiable_norm(in, false).to(in.x.scalar_type());
  }
  bool has_add_backward() const override { return true; }
  AddNormOutput add_forward(at::Tensor residual, NormInputs in) override {
    in.x = residual + in.x;
    EXPECT_FALSE(at::GradMode::is_enabled()) << "no graph is needed";
    return {in.x, forward(in), {in.x.square().mean(-1)}};
  }
  AddNormGradients add_backward(const NormInputs& in, const std::vector<at::Tensor>& kept,
                                const at::Tensor& dsum, const at::Tensor& dout) override {
    ++backwards;
    EXPECT_TRUE(kept.at(0).equal(in.x.square().mean(-1)));
    const auto made = textbook_backward(in, false, dout);
    return {made.dx + dsum, made.dweight, {}};
  }
  int backwards = 0;
};

struct Apart final : Norm {
  at::Tensor forward(const NormInputs& in) override {
    return reference::differentiable_norm(in, false).to(in.x.scalar_type());
  }
};

TEST(NormWithAResidual, ItsOwnBackwardAndAutogradsGiveTheSame) {
  const auto own = std::make_shared<OwnBackward>();
  std::vector<at::Tensor> found[2];
  for (const bool fused : {false, true}) {
    detail::NormGuard guard(fused ? std::shared_ptr<Norm>(own) : std::make_shared<Apart>());
    Ops ops;
    model::set_norm(ops, guard);
    const auto generator = model::seeded_generator(at::kCPU, 3);
    const auto random = [&](at::IntArrayRef sizes) { return at::randn(sizes, generator); };
    const auto residual = leaf(random({2, 3, 16}), at::kFloat);
    const NormInputs in = {leaf(random({2, 3, 16}), at::kBFloat16), leaf(random({16}), at::kFloat)};
    const auto [sum, out] = ops.add_norm(residual, in);
    EXPECT_EQ(sum.scalar_type(), at::kFloat);
    torch::autograd::backward({sum, out}, {random({2, 3, 16}), random({2, 3, 16})});
    EXPECT_EQ(in.x.grad().scalar_type(), at::kBFloat16);
    found[fused] = {sum, out, residual.grad(), in.x.grad(), in.weight.grad()};

    const at::NoGradGuard no_grad;
    EXPECT_TRUE(ops.add_norm(residual, in).second.allclose(out));
  }
  EXPECT_EQ(own->backwards, 1);
  for (std::size_t i = 0; i < found[0].size(); ++i) {
    EXPECT_TRUE(found[0][i].allclose(found[1][i], 1e-4, 1e-6)) << i;
  }
}

TEST(NormWithAResidual, ReportsResultsOfAnotherShape) {
  struct Rows final : Norm {
    at::Tensor forward(const NormInputs& in) override { return in.x; }
    AddNormOutput add_forward(at::Tensor residual, NormInputs in) override {
      return {residual, in.x.narrow(0, 0, 1)};
    }
  };
  detail::NormGuard guard(std::make_shared<Rows>());
  Ops ops;
  model::set_norm(ops, guard);
  const auto x = at::ones({2, 4});
  try {
    ops.add_norm(x, {x, at::ones({4})});
    FAIL() << "accepted";
  } catch (const PluginFailure& failure) {
    EXPECT_EQ(failure.status().outcome, Outcome::wrong);
    EXPECT_EQ(failure.status().reason, "the norm's output has the shape [1, 4], not [2, 4]");
  }
}

}  // namespace
}  // namespace assay
