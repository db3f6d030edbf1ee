// Proves under every clock that caches are cold when they should be.

#ifdef ASSAY_TEST_KERNELS

#include "measure/cache.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <cstdio>

#include "gpu/kernels.h"
#include "gpu/timed.h"
#include "measure/memory.h"

namespace assay::test {
namespace {

// Lines of 4 MiB in an order that prefetchers cannot guess: fits into the L2 cache, not into L1.
at::Tensor chain() {
  constexpr std::int64_t lines = 16384, line_elements = 64;
  auto next = at::zeros({lines * line_elements}, at::TensorOptions().dtype(at::kInt));
  int* places = next.mutable_data_ptr<int>();
  for (std::int64_t i = 0; i < lines; ++i) {
    const std::int64_t after = (i * 7917 + 4241) % lines;  // of full period
    places[i * line_elements] = static_cast<int>(after * line_elements);
  }
  return next.to(cuda);
}

class CachePolicy : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (at::getNumGPUs() == 0) GTEST_SKIP() << "no CUDA device on this machine";
  }

  static constexpr int steps = 16384;

  static std::function<void()> chase(const at::Tensor& next, const at::Tensor& end) {
    return [next, end] {
      test::launch_chase(current_stream(), next.const_data_ptr<int>(), steps,
                         end.mutable_data_ptr<int>());
    };
  }
};

// An L2 hit takes some 250 cycles on an H200, a read from memory some 600.
constexpr double least_ratio = 1.5;

TEST_P(CachePolicy, FlushEvictsAndAddsNothingToTheCase) {
  const auto end = at::empty({1}, at::TensorOptions().device(cuda).dtype(at::kInt));
  const auto next = chain();
  const double warm_s = median_of_clock(GetParam(), calls_of(chase(next, end)), 15);
  const std::int64_t before = measure::allocated_bytes(cuda);
  measure::CacheFlush flush(cuda);
  EXPECT_GE(flush.bytes(), 2 * measure::cache_bytes(cuda));
  const double cold_s =
      median_of_clock(GetParam(), calls_of(chase(next, end), [&] { flush.flush(); }), 15);
  EXPECT_EQ(measure::allocated_bytes(cuda), before);
  std::printf("%s: warm %.1f us, flushed %.1f us, L2 %ld bytes\n", GetParam(), warm_s * 1e6,
              cold_s * 1e6, static_cast<long>(measure::cache_bytes(cuda)));
  EXPECT_GT(cold_s, least_ratio * warm_s);
}

TEST_P(CachePolicy, RotatingEvicts) {
  const auto end = at::empty({1}, at::TensorOptions().device(cuda).dtype(at::kInt));
  const auto bytes = static_cast<std::int64_t>(chain().nbytes());
  const int programs =
      measure::programs_to_rotate(bytes, measure::cache_bytes(cuda), measure::free_bytes(cuda));
  ASSERT_GE(programs, 2);
  measure::TimedCalls rotated;
  rotated.may_be_batched = false;
  for (int i = 0; i < programs; ++i) rotated.calls.push_back({[] {}, chase(chain(), end)});
  const double warm_s = median_of_clock(GetParam(), calls_of(chase(chain(), end)), 15);
  const double cold_s = median_of_clock(GetParam(), std::move(rotated), 2 * programs);
  std::printf("%s: warm %.1f us, rotated among %d %.1f us\n", GetParam(), warm_s * 1e6, programs,
              cold_s * 1e6);
  EXPECT_GT(cold_s, least_ratio * warm_s);
}

INSTANTIATE_TEST_SUITE_P(, CachePolicy, testing::Values("wall", "cuda_event", "cuda_graph"),
                         [](const auto& tested) { return std::string(tested.param); });

}  // namespace
}  // namespace assay::test

#endif
