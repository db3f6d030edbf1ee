// What few shapes show: numbers at the ends of their range, and tensors beyond 2^31 elements.

#include <ATen/ops/allclose.h>
#include <ATen/ops/exp2.h>
#include <ATen/ops/linspace.h>
#include <ATen/ops/ones_like.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <cuda_runtime_api.h>

#include <array>
#include <cmath>
#include <functional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "kernel_case.h"

namespace assay {
namespace {

struct Variant {
  const char* name;
  std::unique_ptr<AttentionBoundary> (*made)();
  std::string (*why_not)();
};

void PrintTo(const Variant& variant, std::ostream* stream) { *stream << variant.name; }

class FlashExtremes : public testing::TestWithParam<Variant> {
 protected:
  void SetUp() override {
    if (const std::string why = GetParam().why_not(); !why.empty()) GTEST_SKIP() << why;
    attention_ = GetParam().made();
  }

  std::unique_ptr<AttentionBoundary> attention_;
};

// Split operands keep fp32's exponents: elements of a row may differ by 2^120.
TEST_P(FlashExtremes, OfARowMaySpanTheExponents) {
  for (const std::int64_t head : {64, 128, 256}) {
    SCOPED_TRACE(head);
    DrawnInputs drawn = draw({"", {1, 2, 130, 130, head}, at::kFloat});
    if (const auto reason = refusal_of(*attention_, drawn.in)) GTEST_SKIP() << *reason;
    const auto factors = at::exp2(at::linspace(-60, 60, head, drawn.in.q.options()));
    drawn.in.q = (drawn.in.q * factors).contiguous();
    drawn.in.k = (drawn.in.k / factors).contiguous();
    const auto right = textbook_results(drawn.in, drawn.dout, at::kDouble);
    const auto textbook = textbook_results(drawn.in, drawn.dout, at::kFloat);
    const auto made = results_of(*attention_, drawn);
    // dq is in units of k, and dk in units of q.
    const std::array<at::Tensor, 5> units = {at::ones_like(factors), at::ones_like(made[1]),
                                             factors, 1 / factors, at::ones_like(factors)};
    for (std::size_t i = 0; i < made.size(); ++i) {
      EXPECT_LE(largest_error(made[i] * units[i], right[i] * units[i]),
                2 * largest_error(textbook[i] * units[i], right[i] * units[i]) + 2e-6)
          << result_names[i];
    }
  }
}

double largest(const at::Tensor& tensor) { return tensor.abs().max().item<double>(); }

// A score of 10^30 outweighs all others: its weight is 1, forward and backward.
TEST_P(FlashExtremes, ScoresMayBeHuge) {
  for (const std::int64_t head : {64, 128, 256}) {
    SCOPED_TRACE(head);
    DrawnInputs drawn = draw({"", {1, 2, 70, 70, head}, at::kFloat});
    if (const auto reason = refusal_of(*attention_, drawn.in)) GTEST_SKIP() << *reason;
    drawn.in.q = drawn.in.q * 1e15;
    drawn.in.k = drawn.in.k * 1e15;
    const auto right = textbook_results(drawn.in, drawn.dout, at::kDouble);
    const auto made = results_of(*attention_, drawn);
    EXPECT_LE(largest_error(made[0], right[0]), 2e-6);
    EXPECT_LE(largest_error(made[1], right[1]), 2e-6 * largest(right[1]));
    EXPECT_LE(largest_error(made[4], right[4]), 2e-6);
  }
}

// By how much dv = Pᵀ dO may be off: weights made again from a rounded log-sum-exp are by the
// factor that this rounding is. It lies between numbers of its format, one of which is the largest
// score: where that outweighs all others, its distance from it is less than 2^-24 of it.
at::Tensor dv_of_rounded_sums(const DrawnInputs& drawn, const at::Tensor& lse) {
  const auto wide = [](const at::Tensor& x) { return x.to(at::kDouble); };
  const auto weights =
      at::softmax(textbook_scores(drawn.in, wide(drawn.in.q), wide(drawn.in.k)), -1);
  const auto distance = -std::get<0>(weights.max(-1, true)).log();
  const auto rounding = at::minimum(lse.abs().unsqueeze(-1) * 0x1p-24, distance).expm1();
  return at::matmul((weights * rounding).transpose(-2, -1), wide(drawn.dout).abs());
}

// So it is with scores of 10^4 to 5 · 10^7, whose rounding may be a factor for a weight.
TEST_P(FlashExtremes, ScoresMayBeLarge) {
  for (const auto& [head, factor] :
       {std::pair<std::int64_t, double>{64, 1e2}, {64, 1e3}, {64, 7e3}, {128, 1e2}, {128, 7e3}}) {
    SCOPED_TRACE(std::to_string(head) + " × " + std::to_string(factor));
    DrawnInputs drawn = draw({"", {1, 2, 270, 270, head}, at::kFloat});
    if (const auto reason = refusal_of(*attention_, drawn.in)) GTEST_SKIP() << *reason;
    drawn.in.q = drawn.in.q * factor;
    drawn.in.k = drawn.in.k * factor;
    const auto right = textbook_results(drawn.in, drawn.dout, at::kDouble);
    const auto textbook = textbook_results(drawn.in, drawn.dout, at::kFloat);
    const auto made = results_of(*attention_, drawn);
    const double of_weights = largest(dv_of_rounded_sums(drawn, right[1]));
    for (const std::size_t i : {0, 1, 4}) {  // out, lse and dv
      EXPECT_LE(largest_error(made[i], right[i]),
                2 * largest_error(textbook[i], right[i]) + 2e-6 + (i == 4 ? of_weights : 0))
          << result_names[i];
    }
  }
}

// A query that is no number makes none of what it sees and is seen by: a weight that is at most 1
// is not 1 for it. Nothing of other queries or heads; keys it does not see may become none with it,
// as all do in textbook attention.
TEST_P(FlashExtremes, NotANumberGoesWhereItIsSeen) {
  constexpr std::int64_t query = 133, head = 64;
  for (const auto dtype : {at::kBFloat16, at::kHalf, at::kFloat}) {
    SCOPED_TRACE(c10::toString(dtype));
    DrawnInputs drawn = draw({"", {1, 2, 270, 270, head}, dtype});
    if (const auto reason = refusal_of(*attention_, drawn.in)) GTEST_SKIP() << *reason;
    drawn.in.q.select(1, 0).select(1, query).select(1, 3).fill_(std::nan(""));
    const auto made = results_of(*attention_, drawn);
    const auto none_of = [&](std::size_t result, std::int64_t first, std::int64_t count) {
      const auto rows = made[result].select(1, 0).narrow(1, first, count);
      return rows.isnan().all().item<bool>();
    };
    for (const std::size_t i : {0, 1, 2}) EXPECT_TRUE(none_of(i, query, 1)) << result_names[i];
    for (const std::size_t i : {3, 4}) EXPECT_TRUE(none_of(i, 0, query + 1)) << result_names[i];
    for (std::size_t i = 0; i < made.size(); ++i) {
      EXPECT_TRUE(made[i].select(1, 1).isfinite().all().item<bool>()) << result_names[i];
      if (i > 2) continue;
      const auto rows = made[i].select(1, 0);
      EXPECT_EQ(rows.isnan().sum().item<std::int64_t>(), rows.select(1, query).numel())
          << result_names[i];
    }
  }
}

// So it is in 16 bits, with scores as large as they can be made.
TEST_P(FlashExtremes, NarrowNumbersMayBeHugeOrTiny) {
  for (const auto& [dtype, factor] :
       {std::pair{at::kBFloat16, 1e15}, {at::kHalf, 100.0}, {at::kBFloat16, 1e-15}}) {
    SCOPED_TRACE(c10::toString(dtype));
    DrawnInputs drawn = draw({"", {1, 2, 270, 270, 64}, dtype});
    if (const auto reason = refusal_of(*attention_, drawn.in)) GTEST_SKIP() << *reason;
    drawn.in.q = drawn.in.q * factor;
    drawn.in.k = drawn.in.k * factor;
    const auto right = textbook_results(drawn.in, drawn.dout, at::kDouble);
    const auto made = results_of(*attention_, drawn);
    EXPECT_LE(largest_error(made[0], right[0]), 0.005 * largest(right[0]) + 2e-3);
    EXPECT_LE(largest_error(made[4], right[4]), 0.005 * largest(right[4]) + 2e-3);
  }
}

// Scores of the first feature alone, which grow by so many bits every 128 keys from the last key to
// the first.
void let_scores_grow(AttentionInputs& in, double bits) {
  constexpr double block = 128, ln_2 = 0.693147180559945;
  const std::int64_t keys = in.k.size(2);
  const double of_key = bits / block * ln_2 * std::sqrt(static_cast<double>(in.k.size(3)));
  in.q.select(-1, 0).fill_(1);
  in.k.select(-1, 0).copy_(at::linspace(of_key * static_cast<double>(keys), of_key, keys,
                                        in.q.options().dtype(at::kFloat)));
}

// Weights beside earlier scores are not 1 for the largest: they are rounded, and the result is.
constexpr double two_roundings_of_bf16 = 0x1p-7;  // by 2^-8 each at most

// Keys are taken in from the last to the first, and weighed beside what came before. Scores grow by
// less than weights may in one block, by more in a few, and by more in each. The backward knows of
// it by the log-sum-exp alone. Few and many heads take different tiles.
TEST_P(FlashExtremes, ScoresMayGrowFromBlockToBlock) {
  for (const auto& [dtype, bound] :
       {std::pair{at::kBFloat16, two_roundings_of_bf16}, {at::kHalf, 0.005}}) {
    for (const std::int64_t head : {64, 80, 96, 128, 256}) {
      for (const auto& [heads, seq, causal] :
           std::vector<std::tuple<std::int64_t, std::int64_t, bool>>{
               {2, 900, true}, {12, 900, true}, {6, 2304, false}, {6, 2177, true}}) {
        for (const double bits : {1, 5, 13, 40, 140}) {
          SCOPED_TRACE(std::string(c10::toString(dtype)) + ", head " + std::to_string(head) + ", " +
                       std::to_string(heads) + " heads, " + std::to_string(seq) + " keys, " +
                       std::to_string(bits) + " bits");
          DrawnInputs drawn = draw({"", {1, heads, seq, seq, head}, dtype, causal});
          if (const auto reason = refusal_of(*attention_, drawn.in)) GTEST_SKIP() << *reason;
          let_scores_grow(drawn.in, bits);
          const auto right = textbook_results(drawn.in, drawn.dout, at::kDouble);
          const auto made = results_of(*attention_, drawn);
          for (const std::size_t i : {0, 4}) {  // out and dv
            EXPECT_LE(largest_error(made[i], right[i]), bound * largest(right[i]) + 2e-3)
                << result_names[i];
          }
          EXPECT_LE(largest_error(made[1], right[1]), 2e-6 * largest(right[1]) + 1e-5);
        }
      }
    }
  }
}

// Weights beside earlier scores are large where scores grow; their products with large values still
// end below what fp32 holds.
TEST_P(FlashExtremes, ValuesMayBeHugeWhereScoresGrow) {
  for (const std::int64_t head : {64, 128, 256}) {
    for (const double bits : {13, 26, 31}) {
      SCOPED_TRACE("head " + std::to_string(head) + ", " + std::to_string(bits) + " bits");
      DrawnInputs drawn = draw({"", {1, 12, 2304, 2304, head}, at::kBFloat16});
      if (const auto reason = refusal_of(*attention_, drawn.in)) GTEST_SKIP() << *reason;
      let_scores_grow(drawn.in, bits);
      drawn.in.v = drawn.in.v * 0x1p78;
      const at::Tensor right = textbook_results(drawn.in, drawn.dout, at::kDouble)[0];
      const at::Tensor made = results_of(*attention_, drawn)[0];
      EXPECT_LE(largest_error(made, right), two_roundings_of_bf16 * largest(right));
    }
  }
}

// The course's own test of the kernel: batch 4, 128 × 128, d 64, within 1e-2.
TEST_P(FlashExtremes, TheCoursesTolerancesHold) {
  for (const bool causal : {false, true}) {
    const DrawnInputs drawn = draw({"", {4, 1, 128, 128, 64}, at::kFloat, causal});
    if (const auto reason = refusal_of(*attention_, drawn.in)) GTEST_SKIP() << *reason;
    const auto right = textbook_results(drawn.in, drawn.dout, at::kFloat);
    const auto made = results_of(*attention_, drawn);
    for (std::size_t i = 0; i < made.size(); ++i) {
      EXPECT_TRUE(at::allclose(made[i], right[i], 1e-2, 1e-2)) << result_names[i];
    }
  }
}

// The last sequences begin beyond element 2^31 of each tensor; the first and one in the middle are
// looked at as what overflows might hit.
TEST_P(FlashExtremes, OffsetsMayExceedTwoToThe31) {
  constexpr std::int64_t batch = 16'448, heads = 16, seq = 128, head = 64, last = 3;
  static_assert((batch - last) * heads * seq * head > std::int64_t{1} << 31);
  c10::cuda::CUDACachingAllocator::emptyCache();
  std::size_t free = 0, all = 0;
  ASSERT_EQ(cudaMemGetInfo(&free, &all), cudaSuccess);
  constexpr std::size_t needed = std::size_t{64} << 30;
  if (free < needed) GTEST_SKIP() << "64 GiB of the GPU's memory are not free";
  DrawnInputs drawn = draw({"", {batch, heads, seq, seq, head}});
  if (const auto reason = refusal_of(*attention_, drawn.in)) GTEST_SKIP() << *reason;
  const auto made = results_of(*attention_, drawn);
  const auto whole = drawn;
  for (const std::int64_t first : {batch - last, batch / 2}) {
    const auto few = [&](const at::Tensor& tensor) {
      return tensor.narrow(0, first, last).clone();
    };
    drawn.in.q = few(whole.in.q);
    drawn.in.k = few(whole.in.k);
    drawn.in.v = few(whole.in.v);
    drawn.dout = few(whole.dout);
    AttentionResults of_few;
    for (std::size_t i = 0; i < made.size(); ++i) of_few[i] = few(made[i]);
    ExactResults(drawn).expect(of_few);
  }
}

INSTANTIATE_TEST_SUITE_P(Gpu, FlashExtremes,
                         testing::Values(Variant{"flash", [] { return flash(); }, why_no_hopper},
                                         Variant{"flash_portable", flash_portable,
                                                 [] { return why_no_gpu(8); }}),
                         [](const auto& tested) { return std::string(tested.param.name); });

}  // namespace
}  // namespace assay
