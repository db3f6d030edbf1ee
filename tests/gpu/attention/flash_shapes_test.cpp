#include "kernel_case.h"

namespace assay {
namespace {

struct Sizes {
  const char* name;
  std::int64_t heads, queries, keys;
};

struct Kind {
  const char* name;
  bool causal = true;
  std::int64_t kv_heads = 0;
  std::int64_t window = 0;
  test::Layout layout = test::Layout::heads_last;
};

struct Dtype {
  const char* name;
  at::ScalarType type;
};

// More tiles of 64 queries than the GPU has multiprocessors, so that the tuned tiles serve them:
// those for short sequences, and above 2048 keys those for long ones. No length divides a tile.
constexpr Sizes sizes[] = {{"short", 24, 523, 523},
                           {"short_more_keys", 24, 391, 777},
                           {"short_more_queries", 12, 1031, 333},
                           {"long", 8, 2309, 2309},
                           {"long_more_keys", 12, 1031, 2511},
                           {"long_more_queries", 4, 4211, 2113}};
constexpr Kind kinds[] = {{"causal"},
                          {"full", false},
                          {"grouped", true, 2},
                          {"full_grouped", false, 1},
                          {"windowed", true, 0, 301},
                          {"full_windowed", false, 0, 2077},
                          {"contiguous", true, 0, 0, test::Layout::contiguous}};
constexpr Dtype dtypes[] = {{"bf16", at::kBFloat16}, {"fp16", at::kHalf}, {"fp32", at::kFloat}};
constexpr std::int64_t tuned_heads[] = {64, 80, 96, 128};

KernelCase case_of(const Sizes& size, const Kind& kind, const Dtype& dtype, std::int64_t head) {
  return {std::string(size.name) + "_" + kind.name + "_" + dtype.name + "_" + std::to_string(head),
          {1, size.heads, size.queries, size.keys, head},
          dtype.type,
          kind.causal,
          kind.kv_heads,
          kind.window,
          kind.layout};
}

// Each tuned head size × dtype × mask, grouping, strides and lengths; heads of 256, whose
// tile does not depend on the length, at one.
std::vector<KernelCase> all_cases() {
  std::vector<KernelCase> all;
  for (const Dtype& dtype : dtypes) {
    for (const std::int64_t head : tuned_heads) {
      for (const Sizes& size : sizes) {
        for (const Kind& kind : kinds) all.push_back(case_of(size, kind, dtype, head));
      }
    }
    for (const Kind& kind : kinds) all.push_back(case_of(sizes[0], kind, dtype, 256));
  }
  return all;
}

class FlashShapes : public testing::TestWithParam<KernelCase> {};

TEST_P(FlashShapes, AreAsExactAsTextbookAttentionTwice) {
  if (const std::string why = why_no_hopper(); !why.empty()) GTEST_SKIP() << why;
  const DrawnInputs drawn = draw(GetParam());
  ASSERT_EQ(refusal_of(*flash(), drawn.in), std::nullopt);
  ExactResults(drawn).expect(results_of(*flash(), drawn));
}

INSTANTIATE_TEST_SUITE_P(Gpu, FlashShapes, testing::ValuesIn(all_cases()),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace assay
