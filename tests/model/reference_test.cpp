#include "reference/reference.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>

#include "model/random.h"
#include "reference/poisoned_memory.h"

namespace assay::model {
namespace {

AttentionInputs random_inputs(std::int64_t seq_q, std::int64_t seq_k, bool causal) {
  const auto generator = seeded_generator(at::kCPU, 3);
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
  const auto reference = attention_reference(in, rows_to_check(2, 0), {});
  EXPECT_NEAR(reference.out[0][0][0][0].item<double>(), 8, 1e-12);
  EXPECT_NEAR(reference.out[0][0][1][0].item<double>(), 5, 1e-12);
  EXPECT_NEAR(reference.lse[0][0][1].item<double>(), std::log(4.0), 1e-12);
}

TEST(AttentionReference, GradientsAreAutograds) {
  for (const bool causal : {true, false}) {
    const auto in = random_inputs(5, 7, causal);
    const auto dout = at::randn_like(in.q);
    torch::autograd::backward({reference_attention(in)}, {dout});
    const auto reference = attention_reference(in, rows_to_check(5, 0), dout);
    EXPECT_LT(relative_error(reference.out, reference_attention(in)), 1e-13);
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
  const auto whole = attention_reference(in, rows_to_check(9, 0), dout);
  const auto some = attention_reference(in, rows, dout_rows);
  EXPECT_LT(relative_error(some.out, whole.out.index_select(2, rows)), 1e-14);
  EXPECT_LT(relative_error(some.dq, whole.dq.index_select(2, rows)), 1e-14);
  EXPECT_LT(relative_error(some.dk, whole.dk), 1e-14);
  EXPECT_LT(relative_error(some.dv, whole.dv), 1e-14);
}

TEST(AttentionReference, AQueryThatSeesNoKeyGivesZero) {
  const auto in = random_inputs(4, 2, true);  // the first two queries lie before every key
  const auto reference = attention_reference(in, rows_to_check(4, 0), at::ones_like(in.q).detach());
  EXPECT_EQ(reference.out.narrow(2, 0, 2).abs().max().item<double>(), 0);
  EXPECT_EQ(reference.dq.narrow(2, 0, 2).abs().max().item<double>(), 0);
  EXPECT_FALSE(reference.dk.isnan().any().item<bool>());
  EXPECT_GT(reference.out.narrow(2, 2, 2).abs().min().item<double>(), 0);
}

// One row of 4096 in two heads is a hundredth of the norm.
TEST(Compare, OneRowThatIsMissingIsWrongHoweverManyThereAre) {
  const auto right = at::randn({1, 2, 4096, 8}, seeded_generator(at::kCPU, 5), at::kFloat);
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
  const auto right = at::randn({1, 2, 4096, 8}, seeded_generator(at::kCPU, 5), at::kFloat);
  Verification verification;
  compare(verification, "out", right.to(at::kBFloat16), right, 2e-2);
  EXPECT_EQ(verification.worst, "out");
  EXPECT_LT(verification.error, 4e-3);
  EXPECT_DOUBLE_EQ(verification.tolerance, 2e-2);
  EXPECT_DOUBLE_EQ(verification.error, relative_error(right.to(at::kBFloat16), right));
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
  const auto root_mean_square = reference_norm({in.x, in.weight, {}, 0}, false);
  EXPECT_TRUE(root_mean_square.allclose(at::tensor({0.2, 2.8}, at::kDouble)));
  EXPECT_TRUE(reference_norm(in, true).allclose(at::tensor({-0.5, 2.5}, at::kDouble)));
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
}  // namespace assay::model
