// Inputs are renewed on a GPU as on a CPU, outside of what clocks time and graphs capture.

#ifdef ASSAY_TEST_KERNELS

#include <ATen/ops/empty_like.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include "gpu/timed.h"
#include "measure/content.h"
#include "measure/device.h"

namespace assay::test {
namespace {

class GpuIntegrity : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (at::getNumGPUs() == 0) GTEST_SKIP() << "no CUDA device on this machine";
    measure::use_device(cuda);
  }
};

TEST(GpuContent, KernelsChangeAndCountWhatTheHostDoes) {
  if (at::getNumGPUs() == 0) GTEST_SKIP() << "no CUDA device on this machine";
  measure::use_device(cuda);
  std::vector<std::pair<at::Tensor, std::int64_t>> contents;
  for (const auto dtype : {at::kFloat, at::kDouble, at::kBFloat16, at::kHalf}) {
    contents.emplace_back(at::randn({123, 457}).to(dtype), 0);
  }
  contents.emplace_back(at::randint(0, 256, {54321}, at::TensorOptions(at::kByte)), 0);
  contents.emplace_back(at::randint(0, 77, {9, 1000}, at::TensorOptions(at::kLong)), 77);
  for (const auto& [host, below] : contents) {
    const at::Tensor device = host.to(cuda);
    for (const bool whole : {false, true}) {
      const measure::Contents first{21, whole || below > 0}, second{22, whole || below > 0};
      const auto taken = measure::fingerprint(host, below, {}, 5);
      EXPECT_EQ(measure::fingerprint(device, below, {}, 5), taken);
      for (const at::Tensor& tensor : {host, device}) {
        measure::renew(tensor, below, {}, first);
        measure::renew(tensor, below, first, second);
      }
      EXPECT_TRUE(device.cpu().equal(host));
      EXPECT_EQ(measure::fingerprint(device, below, second, 5), taken);
      for (const at::Tensor& tensor : {host, device}) measure::renew(tensor, below, second, {});
      EXPECT_EQ(measure::fingerprint(device, below, {}, 5), taken);
    }
  }
  const at::Tensor spoilt = at::randn({4096}).to(cuda);
  measure::spoil(spoilt, 3);
  EXPECT_EQ(spoilt.isnan().sum().item<std::int64_t>(), 4);
}

// Each timed call leaves what follows from contents of its own, under a captured call too.
TEST_P(GpuIntegrity, EveryTimedCallFindsTheContentsThatWereRenewedForIt) {
  const at::Tensor x = at::randn({1 << 20}).to(cuda);
  const at::Tensor y = at::empty_like(x);
  measure::Contents now;
  std::uint64_t calls = 0;
  measure::Call call{[] {}, [&] { y.copy_(x, /*non_blocking=*/true); }};
  call.renew = [&] {
    const measure::Contents next{++calls, false};
    measure::renew(x, 0, now, next);
    now = next;
  };
  const auto clock = measure::make_clock(GetParam(), cuda, {{call}, {}});
  clock->prepare();
  EXPECT_EQ(calls, 0u);
  for (int i = 0; i < 5; ++i) {
    clock->sample(1);
    EXPECT_EQ(calls, static_cast<std::uint64_t>(i) + 1);
    if (!clock->holds_last()) continue;
    EXPECT_TRUE(y.equal(x)) << i;
  }
}

// The calls of a row leave what follows from contents of their own.
TEST_P(GpuIntegrity, EveryCallOfARowHasAProgramOfItsOwn) {
  constexpr std::size_t programs = 5;
  std::vector<at::Tensor> x, y;
  std::vector<measure::Contents> now(programs);
  std::uint64_t renewals = 0;
  std::vector<measure::Call> calls;
  for (std::size_t i = 0; i < programs; ++i) {
    x.push_back(at::randn({1 << 16}).to(cuda));
    y.push_back(at::empty_like(x.back()));
    measure::Call& call = calls.emplace_back();
    call.before = [] {};
    call.run = [&, i] { y[i].copy_(x[i], /*non_blocking=*/true); };
    call.renew = [&, i] {
      const measure::Contents next{++renewals, false};
      measure::renew(x[i], 0, now[i], next);
      now[i] = next;
    };
  }
  const auto clock = measure::make_clock(GetParam(), cuda, {{calls.front()}, {}});
  clock->add({calls.begin() + 1, calls.end()});
  clock->prepare();
  for (int i = 0; i < 3; ++i) clock->sample(1);
  renewals = 0;
  clock->sample(7);
  EXPECT_EQ(renewals, 7u);
  EXPECT_GE(clock->last() + 1, clock->last_row());
  if (!clock->holds_last()) clock->settle();
  for (std::size_t i = 0; i < clock->last_row(); ++i) {
    EXPECT_TRUE(y[clock->last() - i].equal(x[clock->last() - i])) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Clocks, GpuIntegrity, testing::Values("wall", "cuda_event", "cuda_graph"),
                         [](const auto& tested) { return std::string(tested.param); });

}  // namespace
}  // namespace assay::test

#endif
