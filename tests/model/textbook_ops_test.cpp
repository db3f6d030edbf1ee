#include "model/textbook_ops.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>

#include <cmath>

#include "model/adamw.h"

namespace assay::model {
namespace {

at::Tensor floats(std::vector<double> values) { return at::tensor(values, at::kFloat); }

// A quarter turn takes (x, y) to (−y, x); an eighth of (1, 0) is (√½, √½).
TEST(Rope, TurnsEachPairByItsAngle) {
  const double half = std::sqrt(0.5);
  const auto x = floats({1, 2, 3, 4, 1, 0, 5, 6}).view({1, 2, 1, 4});
  const auto cos = floats({0, 1, half, -1}).view({2, 2});
  const auto sin = floats({1, 0, half, 0}).view({2, 2});
  const auto expected = floats({-2, 1, 3, 4, half, half, -5, -6}).view({1, 2, 1, 4});
  const auto turned = textbook_ops().rope(x, cos, sin);
  EXPECT_TRUE(turned.allclose(expected)) << turned;
}

TEST(Rope, KeepsDtypeAndStridedInputs) {
  const auto cos = floats({0, 1, 1, 0}).view({2, 2});
  const auto sin = floats({1, 0, 0, 1}).view({2, 2});
  const auto contiguous = at::arange(16, at::kFloat).view({1, 2, 2, 4});
  // Stored as [batch, heads, seq, d_head].
  const auto strided = contiguous.transpose(1, 2).contiguous().transpose(1, 2);
  ASSERT_FALSE(strided.is_contiguous());
  const auto ops = textbook_ops();
  EXPECT_TRUE(ops.rope(strided, cos, sin).equal(ops.rope(contiguous, cos, sin)));
  EXPECT_EQ(ops.rope(contiguous.to(at::kBFloat16), cos, sin).scalar_type(), at::kBFloat16);
}

TEST(TextbookOps, ActivationsHaveTheirDefinitionsValues) {
  const auto ops = textbook_ops();
  const auto x = floats({-2, -0.5, 0, 1, 3});
  const auto up = floats({1, 2, 3, 4, 5});
  for (std::int64_t i = 0; i < 5; ++i) {
    const double value = x[i].item<double>();
    const double silu = value / (1 + std::exp(-value));
    EXPECT_NEAR(ops.swiglu(x, up)[i].item<double>(), silu * static_cast<double>(i + 1), 1e-6);
    EXPECT_NEAR(ops.gelu(x)[i].item<double>(), value * 0.5 * (1 + std::erf(value / std::sqrt(2.0))),
                1e-6);
  }
}

TEST(TextbookOps, LossIsMeanCrossEntropyInFp32) {
  const auto logits = floats({0, 0, std::log(2.0), 0, 0, 0}).view({2, 3}).to(at::kBFloat16);
  const auto targets = at::tensor({2, 1}, at::kLong);
  const auto loss = textbook_ops().loss(logits, targets);
  EXPECT_EQ(loss.scalar_type(), at::kFloat);
  // −log(2/4) and −log(1/3).
  EXPECT_NEAR(loss.item<double>(), (std::log(2.0) + std::log(3.0)) / 2, 2e-3);
}

TEST(TextbookOps, ProductsOfOneInputAreLinearsUnlessSomebodyHasThem) {
  Ops ops = textbook_ops();
  std::vector<at::Tensor> multiplied;
  ops.linear = [&](const at::Tensor& x, const at::Tensor& weight) {
    multiplied.push_back(weight);
    return x + weight;
  };
  complete(ops);
  const auto x = floats({1}), a = floats({2}), b = floats({3}), c = floats({4});
  const Qkv products = ops.qkv(x, {a, b, c});
  EXPECT_EQ(products.q.item<float>(), 3);
  EXPECT_EQ(products.k.item<float>(), 4);
  EXPECT_EQ(products.v.item<float>(), 5);
  const GateUp both = ops.gate_up(x, {a, b});
  EXPECT_EQ(both.gate.item<float>(), 3);
  EXPECT_EQ(both.up.item<float>(), 4);
  ASSERT_EQ(multiplied.size(), 5u);
  EXPECT_TRUE(multiplied[1].is_same(b));

  ops.gate_up = [](const at::Tensor& given, const GateUp&) { return GateUp{given, given}; };
  complete(ops);
  EXPECT_TRUE(ops.gate_up(x, {a, b}).up.is_same(x));
}

TEST(Joined, IsOneMatrixOfWhatLiesOneBehindAnotherAndOfNothingElse) {
  const auto memory = at::arange(24, at::kFloat).view({6, 4});
  const auto rows = [&](std::int64_t first, std::int64_t count) {
    return memory.narrow(0, first, count).variable_data().requires_grad_();
  };
  const auto whole = joined({rows(1, 2), rows(3, 1), rows(4, 2)});
  EXPECT_TRUE(whole.equal(memory.narrow(0, 1, 5)));
  EXPECT_EQ(whole.data_ptr(), memory[1].data_ptr());
  EXPECT_FALSE(whole.requires_grad());
  EXPECT_FALSE(joined({rows(0, 2), rows(3, 1)}).defined());
  EXPECT_FALSE(joined({rows(2, 1), rows(0, 2)}).defined());
  EXPECT_FALSE(joined({rows(0, 2), memory.narrow(0, 2, 2).clone()}).defined());
  EXPECT_FALSE(joined({memory.t()}).defined());
  EXPECT_FALSE(joined({}).defined());
}

TEST(TextbookOps, AddNormIsFilledFromNormButNeverReplaced) {
  Ops ops;
  ops.norm = [](const NormInputs& in) { return in.x * 10; };
  complete(ops);
  const auto [sum, normed] = ops.add_norm(floats({1, 2}), {floats({3, 4}), {}, {}});
  EXPECT_TRUE(sum.equal(floats({4, 6})));
  EXPECT_TRUE(normed.equal(floats({40, 60})));

  ops.add_norm = [](at::Tensor residual, NormInputs) { return std::pair(residual, residual); };
  complete(ops);
  EXPECT_TRUE(ops.add_norm(floats({1}), {floats({3}), {}, {}}).second.equal(floats({1})));
}

// Loshchilov and Hutter's algorithm 2 for a single number.
struct Scalar {
  double parameter, m = 0, v = 0;
  int steps = 0;

  void step(double gradient, const OptimizerInputs& settings) {
    ++steps;
    m = settings.beta1 * m + (1 - settings.beta1) * gradient;
    v = settings.beta2 * v + (1 - settings.beta2) * gradient * gradient;
    const double m_hat = m / (1 - std::pow(settings.beta1, steps));
    const double v_hat = v / (1 - std::pow(settings.beta2, steps));
    parameter -= settings.learning_rate *
                 (m_hat / (std::sqrt(v_hat) + settings.eps) + settings.weight_decay * parameter);
  }
};

class AdamW : public testing::Test {
 protected:
  AdamW() {
    in.parameters = {at::tensor({0.5, -1.5}, at::kDouble), at::tensor({2.0}, at::kDouble)};
    for (const auto& parameter : in.parameters) {
      in.gradients.push_back(at::zeros_like(parameter));
      in.first_moments.push_back(at::zeros_like(parameter));
      in.second_moments.push_back(at::zeros_like(parameter));
      in.steps.push_back(at::zeros({}, at::kFloat));
    }
    in.learning_rate = 0.05;
    in.beta2 = 0.95;
    in.weight_decay = 0.1;
  }

  void set_gradients(double a, double b, double c) {
    in.gradients[0].copy_(at::tensor({a, b}, at::kDouble));
    in.gradients[1].copy_(at::tensor({c}, at::kDouble));
  }

  void expect(const Scalar& a, const Scalar& b, const Scalar& c) const {
    EXPECT_NEAR(in.parameters[0][0].item<double>(), a.parameter, 1e-9);
    EXPECT_NEAR(in.parameters[0][1].item<double>(), b.parameter, 1e-9);
    EXPECT_NEAR(in.parameters[1][0].item<double>(), c.parameter, 1e-9);
  }

  // The same with fp32 parameters, gradients of 0 in another dtype.
  OptimizerInputs of_fp32(at::ScalarType gradients) const {
    OptimizerInputs made = in;
    for (auto* tensors : {&made.parameters, &made.first_moments, &made.second_moments}) {
      for (auto& tensor : *tensors) tensor = tensor.to(at::kFloat);
    }
    for (auto& step : made.steps) step = step.clone();
    for (auto& gradient : made.gradients) gradient = gradient.to(gradients);
    return made;
  }

  OptimizerInputs in;
  Ops ops = textbook_ops();
};

TEST_F(AdamW, IsTheScalarAlgorithm) {
  Scalar a{0.5}, b{-1.5}, c{2.0};
  for (int i = 0; i < 7; ++i) {
    const double ga = std::sin(i), gb = 1e-3 * i - 2e-3, gc = 4.0 - i;
    set_gradients(ga, gb, gc);
    ops.optimizer(in);
    a.step(ga, in);
    b.step(gb, in);
    c.step(gc, in);
    expect(a, b, c);
  }
  EXPECT_EQ(in.steps[0].item<double>(), 7);
}

TEST_F(AdamW, LeavesOutAStepWithAnOverflow) {
  Scalar a{0.5}, b{-1.5}, c{2.0};
  in.found_inf = at::zeros({1}, at::kFloat);
  for (int i = 0; i < 5; ++i) {
    const bool overflow = i == 1 || i == 3;
    in.found_inf.fill_(overflow ? 1 : 0);
    set_gradients(overflow ? INFINITY : 1, 2, -3);
    ops.optimizer(in);
    if (!overflow) {
      a.step(1, in);
      b.step(2, in);
      c.step(-3, in);
    }
    expect(a, b, c);
  }
  EXPECT_EQ(in.steps[1].item<double>(), 3);
}

// Gradients (3, 0) and (4): their norm is 5.
TEST_F(AdamW, LimitsTheNormOfAllGradientsTogether) {
  struct Limited {
    double limit, given, factor;
  };
  for (const auto& [limit, given, factor] :
       {Limited{1, 0, 0.2}, Limited{5, 0, 1}, Limited{100, 0, 1}, Limited{1, 10, 0.1}}) {
    in.max_grad_norm = limit;
    in.grad_norm = given > 0 ? at::full({}, given, at::kDouble) : at::Tensor();
    set_gradients(3, 0, 4);
    ops.optimizer(in);
    EXPECT_NEAR(in.gradients[0][0].item<double>(), 3 * factor, 1e-12) << limit;
    EXPECT_NEAR(in.gradients[1][0].item<double>(), 4 * factor, 1e-12) << limit;
  }
}

TEST_F(AdamW, LimitsGradientsAsTheyAreWithoutTheLossScale) {
  in.max_grad_norm = 1;
  in.grad_scale = at::full({1}, 8, at::kFloat);
  in.found_inf = at::zeros({1}, at::kFloat);
  Scalar a{0.5}, b{-1.5}, c{2.0};
  set_gradients(8 * 3, 0, 8 * 4);
  ops.optimizer(in);
  a.step(0.6, in);
  b.step(0, in);
  c.step(0.8, in);
  expect(a, b, c);
}

TEST_F(AdamW, AZeroGradientStaysZeroUnderALimit) {
  in.max_grad_norm = 1;
  set_gradients(0, 0, 0);
  ops.optimizer(in);
  EXPECT_EQ(in.gradients[0].abs().max().item<double>(), 0);
}

// Values that bf16 has, of parameters in fp32: the same to the last bit as with wide gradients.
TEST_F(AdamW, TakesGradientsOfAnotherDtypeAsTheParameters) {
  for (const double limit : {0.0, 2.0}) {
    OptimizerInputs wide = of_fp32(at::kFloat), narrow = of_fp32(at::kBFloat16);
    wide.max_grad_norm = narrow.max_grad_norm = limit;
    for (int i = 0; i < 3; ++i) {
      for (auto* each : {&wide, &narrow}) {
        each->gradients[0].copy_(floats({3, -0.25 * i}));
        each->gradients[1].copy_(floats({4}));
        ops.optimizer(*each);
      }
      for (std::size_t k = 0; k < 2; ++k) {
        EXPECT_TRUE(narrow.parameters[k].equal(wide.parameters[k])) << limit;
        EXPECT_TRUE(narrow.first_moments[k].equal(wide.first_moments[k]));
        EXPECT_TRUE(narrow.second_moments[k].equal(wide.second_moments[k]));
        EXPECT_TRUE(narrow.gradients[k].equal(wide.gradients[k].to(at::kBFloat16)));
      }
    }
    EXPECT_EQ(narrow.steps[1].item<double>(), 3);
    EXPECT_EQ(narrow.gradients[1].item<double>() < 4, limit > 0);
  }
}

// 5 is not the norm of (3, 0, 4.0625) in bf16 alone, whose spacing is 2⁻⁵ there.
TEST_F(AdamW, FindsTheNormOfNarrowGradientsInFp32) {
  OptimizerInputs narrow = of_fp32(at::kBFloat16);
  narrow.gradients[0].copy_(floats({3, 0}));
  narrow.gradients[1].copy_(floats({4.0625}));
  EXPECT_FLOAT_EQ(norm_of(narrow.gradients).item<float>(),
                  static_cast<float>(std::sqrt(9 + 4.0625 * 4.0625)));
}

TEST_F(AdamW, RefreshesTheCopiesThatThereAre) {
  in.low_precision = {at::zeros({2}, at::kBFloat16), at::Tensor()};
  set_gradients(1, -2, 3);
  ops.optimizer(in);
  EXPECT_TRUE(in.low_precision[0].equal(in.parameters[0].to(at::kBFloat16)));
  EXPECT_NE(in.low_precision[0][1].item<float>(), 0);
}

}  // namespace
}  // namespace assay::model
