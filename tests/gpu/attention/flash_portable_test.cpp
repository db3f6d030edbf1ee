#include <ATen/ops/equal.h>

#include <string>

#include "kernel_case.h"

namespace assay {
namespace {

class OnTensorCores : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = why_no_gpu(8); !why.empty()) GTEST_SKIP() << why;
  }
};

class FlashPortable : public OnTensorCores, public testing::WithParamInterface<KernelCase> {
 protected:
  void SetUp() override {
    OnTensorCores::SetUp();
    if (IsSkipped()) return;
    drawn_ = draw(GetParam());
    if (const auto reason = refusal_of(*flash_portable(), drawn_.in)) GTEST_SKIP() << *reason;
  }

  AttentionResults results() { return results_of(*flash_portable(), drawn_); }

  DrawnInputs drawn_;
};

TEST_P(FlashPortable, IsAsExactAsTextbookAttentionTwice) { ExactResults(drawn_).expect(results()); }

TEST_P(FlashPortable, RepeatsToTheBit) {
  const auto first = results();
  for (int call = 0; call < 5; ++call) expect_equal(first, results());
}

// Beside the conformance suite's small shapes: each compiled head size in each format, more tiles
// than the GPU takes at once, and lengths that divide nothing.
INSTANTIATE_TEST_SUITE_P(
    Gpu, FlashPortable,
    testing::Values(KernelCase{"one_key", {2, 3, 1, 1, 64}, at::kFloat},
                    KernelCase{"many_tiles", {3, 24, 515, 515, 64}, at::kFloat},
                    KernelCase{"narrow", {2, 3, 777, 777, 24}, at::kFloat},
                    KernelCase{"full", {1, 2, 1001, 999, 64}, at::kFloat, false},
                    KernelCase{"wide", {2, 3, 513, 513, 120}, at::kFloat},
                    KernelCase{"widest", {1, 2, 300, 300, 256}, at::kFloat},
                    KernelCase{"grouped", {1, 6, 450, 450, 80}, at::kFloat, true, 2},
                    KernelCase{"windowed", {1, 4, 700, 700, 64}, at::kFloat, true, 2, 100},
                    KernelCase{"windowed_full", {1, 4, 700, 650, 64}, at::kFloat, false, 0, 65},
                    KernelCase{"more_keys", {2, 3, 333, 777, 96}, at::kFloat},
                    KernelCase{"more_queries", {2, 3, 777, 333, 64}, at::kFloat},
                    KernelCase{"bf16", {3, 8, 1030, 1030, 64}, at::kBFloat16},
                    KernelCase{"bf16_narrow", {2, 3, 777, 777, 8}, at::kBFloat16},
                    KernelCase{"bf16_middle", {2, 4, 515, 515, 80}, at::kBFloat16, false},
                    KernelCase{"bf16_wide", {2, 4, 1030, 1030, 128}, at::kBFloat16, true, 1},
                    KernelCase{"bf16_widest", {1, 2, 515, 515, 256}, at::kBFloat16},
                    KernelCase{
                        "bf16_windowed", {1, 8, 1111, 1111, 128}, at::kBFloat16, true, 2, 200},
                    KernelCase{"bf16_more_queries", {2, 3, 777, 333, 64}, at::kBFloat16},
                    KernelCase{"fp16", {2, 4, 1030, 1030, 64}, at::kHalf},
                    KernelCase{"fp16_wide", {2, 4, 1030, 1030, 120}, at::kHalf, false, 1}),
    [](const auto& tested) { return tested.param.name; });

class FlashPortableRefuses : public OnTensorCores {};

TEST_F(FlashPortableRefuses, WhatItsKernelsDoNotTake) {
  const auto reason = [](std::int64_t head, at::ScalarType dtype) {
    return refusal_of(*flash_portable(), test::attention_inputs({1, 1, 16, 16, head}, dtype, true,
                                                                test::Layout::contiguous, cuda))
        .value_or("");
  };
  EXPECT_EQ(reason(64, at::kFloat), "");
  EXPECT_EQ(reason(64, at::kDouble), "it takes fp32, fp16 and bf16, not Double");
  EXPECT_EQ(reason(12, at::kHalf), "the head size 12 is not a multiple of 8");
  EXPECT_EQ(reason(264, at::kHalf), "the head size 264 is above 256");
}

TEST(FlashPortableOnACpu, IsRefused) {
  const auto in =
      test::attention_inputs({1, 1, 16, 16, 64}, at::kFloat, true, test::Layout::contiguous);
  EXPECT_TRUE(refusal_of(*flash_portable(), in).has_value());
}

}  // namespace
}  // namespace assay
