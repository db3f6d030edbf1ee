
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <assay/reference.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>

#include "measure/memory.h"
#include "model/random.h"

namespace assay::reference {
namespace {

AttentionInputs random_inputs(std::int64_t seq_q, std::int64_t seq_k, bool causal) {
  const auto generator = model::seeded_generator(at::kCPU, 3);
  const auto random = [&](std::int64_t seq) {
    return at::randn({2, 3, seq, 4}, generator, at::TensorOptions().dtype(at::kDouble))
        .requires_grad_();
  };
  return {random(seq_q), random(seq_k), random(seq_k), causal, 0.6};
}

// One query whose scores for its two keys are 0 and log 3: weights 1/4 and 3/4.
TEST(AttentionReference, WeighsValuesByTheSoftmaxOfTheScores) {
  const auto row = [](std::vector<double> values) {
    return at::tensor(values, at::kDouble).view({1, 1, -1, 1});
  };
  const AttentionInputs in = {row({1, 1}), row({0, std::log(3.0)}), row({8, 4}), true, 1};
  const auto reference = attention(in);
  EXPECT_NEAR(reference.out[0][0][0][0].item<double>(), 8, 1e-12);
  EXPECT_NEAR(reference.out[0][0][1][0].item<double>(), 5, 1e-12);
  EXPECT_NEAR(reference.lse[0][0][1].item<double>(), std::log(4.0), 1e-12);
}

// Two query heads read one head of k and v, whose gradients they add up.
TEST(AttentionReference, AGroupSharesKeysAndValues) {
  auto in = random_inputs(5, 7, true);
  const AttentionInputs all = in;
  in.k = all.k.narrow(1, 1, 1);
  in.v = all.v.narrow(1, 1, 1);
  const auto dout = at::randn_like(in.q);
  const auto grouped = attention(in, dout);
  AttentionInputs alike = in;
  alike.k = in.k.expand_as(all.k);
  alike.v = in.v.expand_as(all.v);
  const auto apart = attention(alike, dout);
  EXPECT_TRUE(grouped.out.equal(apart.out));
  EXPECT_TRUE(grouped.dq.equal(apart.dq));
  EXPECT_TRUE(grouped.dk.allclose(apart.dk.sum(1, true)));
  EXPECT_TRUE(grouped.dv.allclose(apart.dv.sum(1, true)));

  // Heads 0 and 1 of four read the first head, heads 2 and 3 the second.
  AttentionInputs four = {at::cat({all.q, all.q.narrow(1, 0, 1)}, 1), all.k.narrow(1, 0, 2),
                          all.v.narrow(1, 0, 2), true, 0.6};
  const auto halves = attention(four);
  four.k = at::cat({all.k.narrow(1, 0, 1), all.k.narrow(1, 0, 2), all.k.narrow(1, 1, 1)}, 1);
  four.v = at::cat({all.v.narrow(1, 0, 1), all.v.narrow(1, 0, 2), all.v.narrow(1, 1, 1)}, 1);
  EXPECT_TRUE(halves.out.equal(attention(four).out));
}

// By hand: 3 queries, 5 keys; query i stands at key i + 2.
TEST(HiddenKeys, AreTheFutureAndWhatLiesOutsideOfTheWindow) {
  const auto seen = [](bool causal, std::int64_t window) {
    AttentionInputs in = random_inputs(3, 5, causal);
    in.window = window;
    std::string rows;
    const auto hidden = hidden_keys(in);
    for (std::int64_t i = 0; i < 3; ++i) {
      for (std::int64_t j = 0; j < 5; ++j) rows += hidden[i][j].item<bool>() ? '.' : 'x';
      rows += ' ';
    }
    return rows;
  };
  EXPECT_EQ(seen(true, 0), "xxx.. xxxx. xxxxx ");
  EXPECT_EQ(seen(true, 1), "..x.. ...x. ....x ");
  EXPECT_EQ(seen(true, 2), ".xx.. ..xx. ...xx ");
  EXPECT_EQ(seen(false, 2), ".xxx. ..xxx ...xx ");
  EXPECT_EQ(seen(false, 9), "xxxxx xxxxx xxxxx ");
  EXPECT_FALSE(hidden_keys(random_inputs(3, 5, false)).defined());
}

TEST(AttentionReference, GradientsAreAutograds) {
  for (const bool causal : {true, false}) {
    auto in = random_inputs(5, 7, causal);
    in.window = causal ? 3 : 0;
    const auto dout = at::randn_like(in.q);
    torch::autograd::backward({differentiable_attention(in)}, {dout});
    const auto reference = attention(in, dout);
    EXPECT_LT(relative_error(reference.out, differentiable_attention(in)), 1e-13);
    EXPECT_LT(relative_error(reference.dq, in.q.grad()), 1e-13);
    EXPECT_LT(relative_error(reference.dk, in.k.grad()), 1e-13);
    EXPECT_LT(relative_error(reference.dv, in.v.grad()), 1e-13);
  }
}

TEST(AttentionReference, SomeRowsGiveWhatASparseGradientGives) {
  const auto in = random_inputs(9, 9, true);
  const auto rows = at::tensor({0, 4, 8}, at::kLong);
  const auto dout_rows = at::randn({2, 3, 3, 4}, at::kDouble);
  const auto dout = at::zeros_like(in.q).index_copy(2, rows, dout_rows).detach();
  const auto whole = attention(in, dout);
  const auto some = attention(in, dout_rows, rows);
  EXPECT_LT(relative_error(some.out, whole.out.index_select(2, rows)), 1e-14);
  EXPECT_LT(relative_error(some.dq, whole.dq.index_select(2, rows)), 1e-14);
  EXPECT_LT(relative_error(some.dk, whole.dk), 1e-14);
  EXPECT_LT(relative_error(some.dv, whole.dv), 1e-14);
}

TEST(AttentionReference, AQueryThatSeesNoKeyGivesZero) {
  const auto in = random_inputs(4, 2, true);  // the first two queries lie before every key
  const auto reference = attention(in, at::ones_like(in.q).detach());
  EXPECT_EQ(reference.out.narrow(2, 0, 2).abs().max().item<double>(), 0);
  EXPECT_EQ(reference.dq.narrow(2, 0, 2).abs().max().item<double>(), 0);
  EXPECT_FALSE(reference.dk.isnan().any().item<bool>());
  EXPECT_GT(reference.out.narrow(2, 2, 2).abs().min().item<double>(), 0);
}

// One row of 4096 in two heads is a hundredth of the norm.
TEST(Compare, OneRowThatIsMissingIsWrongHoweverManyThereAre) {
  const auto right = at::randn({1, 2, 4096, 8}, model::seeded_generator(at::kCPU, 5), at::kFloat);
  auto out = right.clone();
  out[0][1][2048].zero_();
  Verification verification;
  compare(verification, "out", out.to(at::kBFloat16), right, 2e-2);
  EXPECT_LT(relative_error(out, right), 2e-2) << "as a whole it would pass";
  EXPECT_EQ(verification.worst, "row [0, 1, 2048] of out");
  EXPECT_NEAR(verification.error, 1, 0.5);
  EXPECT_DOUBLE_EQ(verification.tolerance, 8e-2);
}

TEST(Compare, ErrorsThatAreSpreadEvenlyCountAsAWhole) {
  const auto right = at::randn({1, 2, 4096, 8}, model::seeded_generator(at::kCPU, 5), at::kFloat);
  Verification verification;
  compare(verification, "out", right.to(at::kBFloat16), right, 2e-2);
  EXPECT_EQ(verification.worst, "out");
  EXPECT_LT(verification.error, 4e-3);
  EXPECT_DOUBLE_EQ(verification.tolerance, 2e-2);
  EXPECT_DOUBLE_EQ(verification.error, relative_error(right.to(at::kBFloat16), right));
}

// 40,000 keys are more than one block of them.
TEST(AttentionSample, IsThatOfAllKeysInWhateverBlocksTheyAreTaken) {
  const auto generator = model::seeded_generator(at::kCPU, 4);
  const auto random = [&](std::int64_t heads, std::int64_t seq) {
    return at::randn({1, heads, seq, 4}, generator, at::TensorOptions().dtype(at::kDouble));
  };
  AttentionInputs in = {random(2, 150), random(1, 40'000), random(1, 40'000), false, 0.6};
  const auto dout = random(2, 150);
  const auto alike = [](const at::Tensor& sample, const at::Tensor& whole, const at::Tensor& rows) {
    return sample.allclose(rows_of_heads(whole, rows), 1e-9, 1e-13);
  };
  for (const bool causal : {false, true}) {
    for (const std::int64_t window : {0, 30'000}) {
      in.causal = causal;
      in.window = window;
      const auto sample = attention_sample(in, dout, 9, at::kCPU);
      const auto right = attention(in, dout);
      ASSERT_EQ(sample.queries.size(0), 128);
      EXPECT_TRUE(alike(sample.out, right.out, sample.queries)) << causal << window;
      EXPECT_TRUE(alike(sample.textbook_out, right.out, sample.queries)) << causal << window;
      EXPECT_TRUE(alike(sample.dq, right.dq, sample.queries)) << causal << window;
      EXPECT_TRUE(alike(sample.dk, right.dk, sample.keys)) << causal << window;
      EXPECT_TRUE(alike(sample.textbook_dq, right.dq, sample.queries)) << causal << window;
      EXPECT_TRUE(alike(sample.textbook_dk, right.dk, sample.keys)) << causal << window;
      EXPECT_TRUE(alike(sample.textbook_dv, right.dv, sample.keys)) << causal << window;
    }
  }
}

// A query that sees one key has the weight 1 and dS = 0: what is left is ε ‖dO‖ ‖v‖, times ‖q‖ for
// dk and ‖k‖ for dq. The second query shares its weight among two keys alike.
TEST(AttentionSample, KnowsWhatRoundingLeavesWhereTermsCancel) {
  const auto rows = [](std::initializer_list<double> numbers, at::ScalarType dtype) {
    return at::tensor(std::vector<double>(numbers), at::TensorOptions(at::kDouble))
        .reshape({1, 1, 2, 2})
        .to(dtype);
  };
  const double scale = 0.5, epsilon = 0x1p-24;
  for (const auto dtype : {at::kFloat, at::kBFloat16}) {
    AttentionInputs in = {rows({3, 4, 0, 0}, dtype), rows({0, 2, 0, 2}, dtype),
                          rows({6, 8, 0, 1}, dtype), true, scale};
    const auto sample = attention_sample(in, rows({0, 7, 1, 0}, dtype), 9, at::kCPU);
    ASSERT_EQ(sample.rounding_dk.defined(), dtype == at::kFloat);
    if (dtype != at::kFloat) continue;
    // ‖q‖ 5 and 0, ‖k‖ 2, ‖v‖ 10 and 1, ‖dO‖ 7 and 1.
    const auto dk = at::tensor({7.0 * 10 * 5, 0.0}, at::kDouble) * (epsilon * scale);
    const double both = std::hypot(0.5 * 10, 0.5 * 1) * 2;
    const auto dq = at::tensor({7.0 * 10 * 2, both}, at::kDouble) * (epsilon * scale);
    EXPECT_TRUE(sample.rounding_dk.allclose(dk, 1e-9, 1e-15)) << sample.rounding_dk;
    EXPECT_TRUE(sample.rounding_dq.allclose(dq, 1e-9, 1e-15)) << sample.rounding_dq;
  }
}

// A query with two keys whose scores are known to ε scale ‖q‖ ‖k‖ each, and whose values have one
// direction, so that dS = ± p₁ p₂ dO (v₁ − v₂).
TEST(AttentionSample, KnowsWhatTheRoundingOfScoresMakesOfGradients) {
  const auto rows = [](std::initializer_list<double> numbers) {
    return at::tensor(std::vector<double>(numbers), at::TensorOptions(at::kFloat))
        .reshape({1, 1, -1, 1});
  };
  const double scale = 0.5, epsilon = 0x1p-24;
  const double q = 60, k1 = 3, k2 = 2.9, v1 = 5, v2 = -4, d = 7;
  const AttentionInputs in = {rows({q}), rows({k1, k2}), rows({v1, v2}), false, scale};
  const auto sample = attention_sample(in, rows({d}), 9, at::kCPU);
  const double odds = std::exp(scale * q * (2.9F - 3.0F));
  const double p1 = 1 / (1 + odds), p2 = odds / (1 + odds);
  const double ds = p1 * p2 * d * (v1 - v2);
  const double of_first = std::hypot(ds * scale * q * k1, p1 * d * v1);
  const double of_second = std::hypot(ds * scale * q * k2, p2 * d * v2);
  const auto dq =
      at::tensor({std::hypot(of_first * k1, of_second * k2)}, at::kDouble) * (epsilon * scale);
  const auto dk = at::tensor({of_first * q, of_second * q}, at::kDouble) * (epsilon * scale);
  EXPECT_TRUE(sample.rounding_dq.allclose(dq, 1e-6)) << sample.rounding_dq << dq;
  EXPECT_TRUE(sample.rounding_dk.allclose(dk, 1e-6)) << sample.rounding_dk << dk;
}

// The scores of 128 queries alone are 256 MiB in float64.
TEST(AttentionSample, OfManyKeysTakesLittleMemory) {
  const auto generator = model::seeded_generator(at::kCPU, 4);
  const auto random = [&] { return at::randn({1, 1, 1 << 18, 8}, generator); };
  const AttentionInputs in = {random(), random(), random(), false, 0.35};
  const auto dout = random();
  const measure::CpuMemoryScope counted;
  const measure::MemoryUse use = measure::observe_memory(at::kCPU, [&] {
    const auto sample = attention_sample(in, dout, 9, at::kCPU);
    EXPECT_TRUE(sample.dq.defined());
    EXPECT_FALSE(sample.keys.defined());  // 2^41 operations are too many
  });
  EXPECT_GT(use.peak_bytes, 0);
  EXPECT_LT(use.peak_bytes, std::int64_t{128} << 20);
}

// The error of a gradient that is rounding alone counts against the floor.
TEST(Compare, AFloorIsTheLeastThatAReferenceCountsWith) {
  const auto right = at::zeros({4, 4}, at::kDouble);
  const auto out = at::full({4, 4}, 1e-6, at::kDouble);
  Verification bare, floored;
  compare(bare, "out", out, right + 1e-30, 1e-4);
  EXPECT_GT(bare.error, bare.tolerance);
  compare(floored, "out", out, right + 1e-30, 1e-4, 0.1);
  EXPECT_NEAR(floored.error, 1e-5, 1e-9);
  EXPECT_LE(floored.error, floored.tolerance);
}

// A row much smaller than the others may be off by as much as they may.
TEST(Compare, ASmallRowIsHeldAgainstATypicalOne) {
  auto right = at::ones({100, 4}, at::kDouble);
  right[7] = 1e-9;
  auto out = right.clone();
  out[7] = 0.01;
  Verification verification;
  compare(verification, "out", out, right, 2e-2);
  EXPECT_EQ(verification.worst, "out");
  EXPECT_LE(verification.error, verification.tolerance);
  const Deviation found = deviation(out, right);
  EXPECT_EQ(found.where, 7);
  EXPECT_NEAR(found.row, 0.01, 1e-3);
}

TEST(Compare, RowsAreFoundInAnyLayoutAndAcrossPieces) {
  const auto right = at::ones({3, 1 << 12, 1 << 9}, at::kFloat);  // more than is widened at once
  auto out = right.clone();
  out[2][4000] = 3;
  const Deviation found = deviation(out, right);
  EXPECT_EQ(found.where, 2 * 4096 + 4000);
  EXPECT_NEAR(found.row, 2, 1e-9);
  const auto turned = out.transpose(0, 1).contiguous().transpose(0, 1);
  EXPECT_EQ(deviation(turned, right).where, found.where);
  EXPECT_NEAR(found.whole, 2 / std::sqrt(3.0 * 4096), 1e-9);
}

TEST(RowsToCheck, AreAllUpToTheLimitAndASpreadSampleAboveIt) {
  EXPECT_EQ(rows_to_check(whole_rows, 1).size(0), whole_rows);
  const auto rows = rows_to_check(65537, 1);
  ASSERT_EQ(rows.size(0), sampled_rows);
  EXPECT_EQ(rows[0].item<std::int64_t>(), 0);
  EXPECT_EQ(rows[-1].item<std::int64_t>(), 65536);
  EXPECT_GT((rows.narrow(0, 1, 63) - rows.narrow(0, 0, 63)).min().item<std::int64_t>(), 0);
  EXPECT_TRUE(rows.equal(rows_to_check(65537, 1)));
  EXPECT_FALSE(rows.equal(rows_to_check(65537, 2)));
}

TEST(NormReference, HandWorkedValues) {
  // Mean square of (1, 7) is 25; less the mean 4 they are (−3, 3), variance 9.
  const NormInputs in = {at::tensor({1.0, 7.0}, at::kFloat), at::tensor({1.0, 2.0}, at::kFloat),
                         at::tensor({0.5, 0.5}, at::kFloat), 0};
  const auto root_mean_square = differentiable_norm({in.x, in.weight, {}, 0}, false);
  EXPECT_TRUE(root_mean_square.allclose(at::tensor({0.2, 2.8}, at::kDouble)));
  EXPECT_TRUE(differentiable_norm(in, true).allclose(at::tensor({-0.5, 2.5}, at::kDouble)));
}

TEST(NormReference, OfASumIsTheNormOfTheSumAndHandsItsGradientOn) {
  const auto random = [](std::uint64_t seed, at::IntArrayRef sizes) {
    return at::randn(sizes, model::seeded_generator(at::kCPU, seed), at::kDouble).requires_grad_();
  };
  for (const bool centred : {false, true}) {
    const auto residual = random(1, {2, 3, 8}), dsum = random(2, {2, 3, 8}).detach();
    NormInputs in = {random(3, {2, 3, 8}), random(4, {8}), {}, 1e-5};
    if (centred) in.bias = random(5, {8});
    const auto dout = random(6, {2, 3, 8}).detach();
    const auto made = add_norm(residual, in, centred, dsum, dout);

    NormInputs summed = in;
    summed.x = residual + in.x;
    const auto out = differentiable_norm(summed, centred);
    torch::autograd::backward({out, summed.x}, {dout, dsum});
    EXPECT_TRUE(made.sum.equal(summed.x));
    EXPECT_TRUE(made.out.allclose(out));
    EXPECT_TRUE(made.dsum.allclose(residual.grad()));
    EXPECT_TRUE(made.dsum.allclose(in.x.grad()));
    EXPECT_TRUE(made.dweight.allclose(in.weight.grad()));
    EXPECT_EQ(made.dbias.defined(), centred);
    EXPECT_TRUE(!centred || made.dbias.allclose(in.bias.grad()));
  }
}

// (1 2) times the rows (3 4), (5 6): 11 and 17.
TEST(LinearReference, MultipliesByRowsAndDifferentiates) {
  const auto x = at::tensor({1.0, 2.0}, at::kFloat).view({1, 1, 2});
  const auto weight = at::tensor({3.0, 4.0, 5.0, 6.0}, at::kFloat).view({2, 2});
  const auto dout = at::tensor({1.0, 10.0}, at::kFloat).view({1, 1, 2});
  const auto made = linear(x, weight, dout);
  const auto doubles = [](std::vector<double> values) { return at::tensor(values, at::kDouble); };
  EXPECT_TRUE(made.out.equal(doubles({11, 17}).view({1, 1, 2})));
  EXPECT_TRUE(made.dx.equal(doubles({53, 64}).view({1, 1, 2})));
  EXPECT_TRUE(made.dweight.equal(doubles({1, 2, 10, 20}).view({2, 2})));
}

TEST(RelativeError, IsOfNormsAndInfiniteForWhatIsNotANumber) {
  const auto reference = at::tensor({3.0, 4.0}, at::kDouble);
  EXPECT_DOUBLE_EQ(relative_error(at::tensor({3.0, 4.5}, at::kFloat), reference), 0.1);
  EXPECT_EQ(relative_error(at::tensor({3.0, NAN}, at::kFloat), reference), INFINITY);
  EXPECT_DOUBLE_EQ(relative_error(reference, at::zeros_like(reference)), 5);
}

TEST(Compare, KeepsWhatIsWorstAgainstItsOwnTolerance) {
  Verification verification;
  const auto one = at::tensor({1.0}, at::kDouble);
  compare(verification, "loose", one * 1.5, one, 1.0);
  compare(verification, "tight", one * 1.02, one, 0.01);
  compare(verification, "exact", one, one, 0.01);
  EXPECT_TRUE(verification.checked);
  EXPECT_EQ(verification.worst, "tight");
  EXPECT_NEAR(verification.error, 0.02, 1e-12);
  EXPECT_EQ(verification.tolerance, 0.01);
}

TEST(PoisonedMemory, NewTensorsHoldNanUntilWritten) {
  {
    const PoisonedMemory poisoned(at::kCPU, 0);
    EXPECT_TRUE(at::empty({1000}, at::kFloat).isnan().all().item<bool>());
    EXPECT_TRUE(at::empty({7}, at::kBFloat16).isnan().all().item<bool>());
  }
  EXPECT_FALSE(at::globalContext().deterministicAlgorithms());
}

}  // namespace
}  // namespace assay::reference
