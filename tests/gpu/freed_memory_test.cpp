#ifdef ASSAY_TEST_KERNELS

#include "measure/freed_memory.h"

#include <ATen/Context.h>
#include <ATen/ops/empty.h>
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <utility>
#include <vector>

#include "device.h"
#include "gpu/timed.h"
#include "measure/device.h"

namespace assay::test {
namespace {

at::Tensor bytes_on_gpu(std::int64_t bytes) {
  return at::empty({bytes}, at::TensorOptions().device(cuda).dtype(at::kByte)).fill_(1);
}

// The driver clears returned memory, which takes bandwidth from other work.
TEST(GpuFreedMemory, IsClearedBeforeAnythingIsTimed) {
  if (at::getNumGPUs() == 0) GTEST_SKIP() << "no CUDA device on this machine";
  measure::use_device(cuda);
  const auto from = bytes_on_gpu(std::int64_t{512} << 20);
  const auto to = bytes_on_gpu(from.numel());
  const auto clock = measure::make_clock("cuda_event", cuda,
                                         calls_of([&] { to.copy_(from, /*non_blocking=*/true); }));
  clock->prepare();
  // Some 8 ms, well within the 20 ms that clearing takes.
  const auto copy_s = [&] {
    std::vector<double> samples_s(30);
    for (double& sample_s : samples_s) sample_s = clock->sample(1);
    return median(std::move(samples_s));
  };
  const double undisturbed_s = copy_s();

  measure::FreedMemory freed(cuda);
  const auto give_back = [] {
    bytes_on_gpu(std::int64_t{8} << 30);
    measure::synchronize(cuda);
    measure::empty_cache(cuda);
  };
  give_back();
  const double meanwhile_s = copy_s();
  freed.await_cleared();
  give_back();
  freed.await_cleared();
  const double afterwards_s = copy_s();
  std::printf(
      "a copy of 512 MiB: %.1f us, after 8 GiB were given back %.1f us, once cleared %.1f us\n",
      undisturbed_s * 1e6, meanwhile_s * 1e6, afterwards_s * 1e6);
  EXPECT_NEAR(afterwards_s, undisturbed_s, 0.03 * undisturbed_s);
}

TEST(GpuFreedMemory, GoesBackWhereNobodyUsesIt) {
  if (at::getNumGPUs() == 0) GTEST_SKIP() << "no CUDA device on this machine";
  measure::use_device(cuda);
  measure::FreedMemory freed(cuda);
  const auto used = bytes_on_gpu(std::int64_t{64} << 20);
  const auto free_bytes = [] {
    std::size_t free = 0, all = 0;
    EXPECT_EQ(cudaMemGetInfo(&free, &all), cudaSuccess);
    return static_cast<std::int64_t>(free);
  };
  freed.give_back();
  const std::int64_t before = free_bytes();
  bytes_on_gpu(std::int64_t{2} << 30);
  EXPECT_LE(free_bytes(), before - (std::int64_t{2} << 30)) << "the allocator keeps it";
  freed.give_back();
  EXPECT_GT(free_bytes(), before - (std::int64_t{1} << 30));
  EXPECT_EQ(used.sum().item<std::int64_t>(), std::int64_t{64} << 20);
}

}  // namespace
}  // namespace assay::test

#endif
