#include <ATen/Context.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/exp2.h>
#include <ATen/ops/linspace.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/randn.h>

#include <array>
#include <optional>

#include "attention_results.h"
#include "device.h"
#include "plugins/attention/attention_inputs.h"
#include "plugins/support.h"

namespace assay {
namespace {

struct PortableCase {
  std::string name;
  test::AttentionShape shape;
  at::ScalarType dtype = at::kFloat;
  bool causal = true;
  std::int64_t kv_heads = 0;  // 0: as many as heads
  std::int64_t window = 0;
};

void PrintTo(const PortableCase& tested, std::ostream* stream) { *stream << tested.name; }

std::unique_ptr<AttentionBoundary> portable_plugin() {
  return test::load<AttentionBoundary>(
      "attention", "flash_portable", "flash_portable",
      {{"tile_queries", std::int64_t(0)}, {"tile_keys", std::int64_t(0)}});
}

AttentionResults portable_results(const AttentionInputs& in, const at::Tensor& dout) {
  const auto attention = portable_plugin();
  AttentionOutput output;
  throw_unless_ok(attention->forward_with_lse(in, output));
  AttentionGradients made;
  throw_unless_ok(attention->backward(in, output.out, output.lse, dout, made));
  return {output.out, output.lse, made.dq, made.dk, made.dv};
}

// What the plugin says of inputs; nothing where it takes them.
std::optional<std::string> portable_refusal(const AttentionInputs& in) {
  std::optional<std::string> reason;
  throw_unless_ok(portable_plugin()->unsupported(in, reason));
  return reason;
}

class OnTensorCores : public testing::Test {
 protected:
  void SetUp() override {
    if (at::getNumGPUs() == 0) GTEST_SKIP() << "no CUDA device on this machine";
    if (at::cuda::getCurrentDeviceProperties()->major < 8) {
      GTEST_SKIP() << "flash_portable begins at compute capability 8.0";
    }
  }
};

class FlashPortable : public OnTensorCores, public testing::WithParamInterface<PortableCase> {
 protected:
  void SetUp() override {
    OnTensorCores::SetUp();
    if (IsSkipped()) return;
    const auto& tested = GetParam();
    in_ = test::attention_inputs(tested.shape, tested.dtype, tested.causal,
                                 test::Layout::heads_last, cuda);
    in_.window = tested.window;
    if (tested.kv_heads > 0) {
      in_.k = in_.k.narrow(1, 0, tested.kv_heads);
      in_.v = in_.v.narrow(1, 0, tested.kv_heads);
    }
    in_.q = in_.q.detach();
    in_.k = in_.k.detach();
    in_.v = in_.v.detach();
    dout_ = at::randn(in_.q.sizes(), model::seeded_generator(cuda, 18),
                      in_.q.options().dtype(at::kFloat))
                .to(tested.dtype);
    if (const auto reason = portable_refusal(in_)) GTEST_SKIP() << *reason;
  }

  AttentionInputs in_;
  at::Tensor dout_;
};

TEST_P(FlashPortable, IsAsExactAsTextbookAttentionTwice) {
  const auto dtype = GetParam().dtype;
  const auto right = textbook_results(in_, dout_, at::kDouble);
  const auto textbook = textbook_results(in_, dout_, dtype);
  const double floor = dtype == at::kFloat ? 2e-6 : dtype == at::kHalf ? 3e-4 : 2e-3;
  const auto made = portable_results(in_, dout_);
  for (std::size_t i = 0; i < made.size(); ++i) {
    EXPECT_LE(largest_error(made[i], right[i]), 2 * largest_error(textbook[i], right[i]) + floor)
        << result_names[i];
  }
}

TEST_P(FlashPortable, RepeatsToTheBit) {
  const auto first = portable_results(in_, dout_);
  for (int call = 0; call < 5; ++call) {
    const auto again = portable_results(in_, dout_);
    for (std::size_t i = 0; i < first.size(); ++i) {
      EXPECT_TRUE(at::equal(first[i], again[i])) << result_names[i];
    }
  }
}

// Beside the conformance suite's small shapes: each compiled head size in each format, more tiles
// than the GPU takes at once, and lengths that divide nothing.
INSTANTIATE_TEST_SUITE_P(
    Gpu, FlashPortable,
    testing::Values(PortableCase{"one_key", {2, 3, 1, 1, 64}},
                    PortableCase{"many_tiles", {3, 24, 515, 515, 64}},
                    PortableCase{"narrow", {2, 3, 777, 777, 24}},
                    PortableCase{"full", {1, 2, 1001, 999, 64}, at::kFloat, false},
                    PortableCase{"wide", {2, 3, 513, 513, 120}},
                    PortableCase{"widest", {1, 2, 300, 300, 256}},
                    PortableCase{"grouped", {1, 6, 450, 450, 80}, at::kFloat, true, 2},
                    PortableCase{"windowed", {1, 4, 700, 700, 64}, at::kFloat, true, 2, 100},
                    PortableCase{"windowed_full", {1, 4, 700, 650, 64}, at::kFloat, false, 0, 65},
                    PortableCase{"more_keys", {2, 3, 333, 777, 96}},
                    PortableCase{"more_queries", {2, 3, 777, 333, 64}},
                    PortableCase{"bf16", {3, 8, 1030, 1030, 64}, at::kBFloat16},
                    PortableCase{"bf16_narrow", {2, 3, 777, 777, 8}, at::kBFloat16},
                    PortableCase{"bf16_middle", {2, 4, 515, 515, 80}, at::kBFloat16, false},
                    PortableCase{"bf16_wide", {2, 4, 1030, 1030, 128}, at::kBFloat16, true, 1},
                    PortableCase{"bf16_widest", {1, 2, 515, 515, 256}, at::kBFloat16},
                    PortableCase{
                        "bf16_windowed", {1, 8, 1111, 1111, 128}, at::kBFloat16, true, 2, 200},
                    PortableCase{"bf16_more_queries", {2, 3, 777, 333, 64}, at::kBFloat16},
                    PortableCase{"fp16", {2, 4, 1030, 1030, 64}, at::kHalf},
                    PortableCase{"fp16_wide", {2, 4, 1030, 1030, 120}, at::kHalf, false, 1}),
    [](const auto& tested) { return tested.param.name; });

class FlashPortableMagnitudes : public OnTensorCores {};

// Split operands keep fp32's exponents: elements of a row may differ by 2^120.
TEST_F(FlashPortableMagnitudes, OfARowMaySpanTheExponents) {
  auto in = test::attention_inputs({1, 2, 130, 130, 64}, at::kFloat, true, test::Layout::heads_last,
                                   cuda);
  const auto factors = at::exp2(at::linspace(-60, 60, 64, in.q.options().requires_grad(false)));
  in.q = (in.q.detach() * factors).contiguous();
  in.k = (in.k.detach() / factors).contiguous();
  in.v = in.v.detach();
  const auto dout = at::randn(in.q.sizes(), model::seeded_generator(cuda, 18), in.q.options());
  const auto right = textbook_results(in, dout, at::kDouble);
  const auto textbook = textbook_results(in, dout, at::kFloat);
  auto made = portable_results(in, dout);
  // dq is in units of k, and dk in units of q.
  const std::array<at::Tensor, 5> units = {factors / factors, at::ones_like(made[1]), factors,
                                           1 / factors, factors / factors};
  for (std::size_t i = 0; i < made.size(); ++i) {
    EXPECT_LE(largest_error(made[i] * units[i], right[i] * units[i]),
              2 * largest_error(textbook[i] * units[i], right[i] * units[i]) + 2e-6)
        << result_names[i];
  }
}

// A score of 10^30 outweighs all others: its weight is 1, forward and backward.
TEST_F(FlashPortableMagnitudes, OfScoresMayBeHuge) {
  auto in =
      test::attention_inputs({1, 2, 70, 70, 64}, at::kFloat, true, test::Layout::contiguous, cuda);
  in.q = in.q.detach() * 1e15;
  in.k = in.k.detach() * 1e15;
  in.v = in.v.detach();
  const auto dout = at::randn(in.q.sizes(), model::seeded_generator(cuda, 18), in.q.options());
  const auto right = textbook_results(in, dout, at::kDouble);
  const auto made = portable_results(in, dout);
  EXPECT_LE(largest_error(made[0], right[0]), 2e-6);
  EXPECT_LE(largest_error(made[4], right[4]), 2e-6);
}

class FlashPortableRefuses : public OnTensorCores {};

TEST_F(FlashPortableRefuses, WhatItsKernelsDoNotTake) {
  const auto reason = [](std::int64_t head, at::ScalarType dtype) {
    return portable_refusal(test::attention_inputs({1, 1, 16, 16, head}, dtype, true,
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
  EXPECT_TRUE(portable_refusal(in).has_value());
}

}  // namespace
}  // namespace assay
