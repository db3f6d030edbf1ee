// observe: memory against the caching allocator's own figures.

#include <gmock/gmock.h>

#if ASSAY_WITH_CUDA

#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <assay/observer.h>
#include <assay/range.h>
#include <c10/cuda/CUDACachingAllocator.h>

#include <chrono>
#include <map>

#include "gpu/device.h"
#include "measure/device.h"
#include "observer/memory/collect.h"
#include "observer/memory/figures.h"
#include "observer/memory/snapshot.h"

namespace assay {
namespace {

constexpr std::int64_t mebibyte = std::int64_t{1} << 20;

// A step of two phases: 3 MiB, of which 1 MiB stays to the next step, and then 64 MiB.
class TwoPhases final : public ObservedPassBoundary {
 public:
  const std::string& pass() const noexcept override { return pass_; }
  at::Device device() const noexcept override { return cuda; }
  int rank() const noexcept override { return 0; }
  int steps() const noexcept override { return 3; }
  Status build() noexcept override {
    return guarded([&] { weights_ = bytes(8 * mebibyte); });
  }
  Status step() noexcept override {
    return guarded([&] {
      kept_.reset();
      {
        const Range step("assay.step");
        {
          const Range forward("forward");
          const auto passing = bytes(2 * mebibyte);
          kept_ = bytes(mebibyte);
        }
        const Range backward("backward");
        const auto large = bytes(64 * mebibyte);
      }
      measure::synchronize(cuda);
    });
  }

 private:
  static at::Tensor bytes(std::int64_t count) {
    return at::ones({count}, at::device(cuda).dtype(at::kByte));
  }
  std::string pass_ = "train_step";
  at::Tensor weights_, kept_;
};

// A forward whose graph is kept after the observation.
class KeepsItsGraph final : public ObservedPassBoundary {
 public:
  const std::string& pass() const noexcept override { return pass_; }
  at::Device device() const noexcept override { return cuda; }
  int rank() const noexcept override { return 0; }
  int steps() const noexcept override { return 1; }
  Status build() noexcept override {
    return guarded([&] { x_ = at::ones({1024}, at::device(cuda)).requires_grad_(); });
  }
  Status step() noexcept override {
    return guarded([&] {
      const Range step("assay.step");
      y_ = x_ * x_ * x_;
    });
  }

 private:
  std::string pass_ = "forward";
  at::Tensor x_, y_;
};

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

class MemoryOnTheDevice : public testing::Test {
 protected:
  void SetUp() override {
    if (measure::cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device";
    measure::use_device(cuda);
    measure::empty_cache(cuda);
  }
};

TEST_F(MemoryOnTheDevice, TimelineEndsWithTheAllocatorsOwnFigures) {
  TwoPhases watched;
  const auto seen = memory::collect(ObservedPass(watched), &seconds);
  ASSERT_EQ(seen.failure, nullptr);
  constexpr auto all = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);
  const auto stats = c10::cuda::CUDACachingAllocator::getDeviceStats(cuda.index());
  ASSERT_FALSE(seen.history.events.empty());
  EXPECT_EQ(seen.history.end.allocated, stats.allocated_bytes[all].current);
  EXPECT_EQ(seen.history.end.reserved, stats.reserved_bytes[all].current);
  EXPECT_EQ(seen.history.events.back().allocated, stats.allocated_bytes[all].current);
  memory::Bytes reserved = 0, allocated = 0;
  for (const auto& segment : seen.history.segments) {
    reserved += segment.size;
    for (const auto& block : segment.blocks) allocated += block.allocated ? block.size : 0;
  }
  EXPECT_EQ(reserved, stats.reserved_bytes[all].current);
  EXPECT_EQ(allocated, stats.allocated_bytes[all].current);
}

TEST_F(MemoryOnTheDevice, PhasesHaveTheirPeaksAndTheDeviceMore) {
  TwoPhases watched;
  const auto seen = memory::collect(ObservedPass(watched), &seconds);
  const auto phases = memory::phase_figures(seen.history);
  const auto built = static_cast<double>(seen.history.built.allocated);
  ASSERT_EQ(phases.size(), 3u);
  EXPECT_EQ(phases[1].name, "forward");
  EXPECT_EQ(phases[1].peak[0] - built, 3 * mebibyte);
  EXPECT_EQ(phases[1].floor[0] - built, 0);
  EXPECT_EQ(phases[2].peak[0] - built, 65 * mebibyte);
  EXPECT_EQ(phases[2].floor[0] - built, mebibyte);
  for (const auto& phase : phases) {
    EXPECT_GE(phase.reserved_peak[0], phase.peak[0]);
    EXPECT_GT(phase.device[0], phase.reserved_floor[0]) << "the context too";
  }
}

TEST_F(MemoryOnTheDevice, WhatComesAfterAnObservationIsNotReportedToIt) {
  KeepsItsGraph watched;
  bool over = false;
  const auto seen = memory::collect(ObservedPass(watched), [&] {
    EXPECT_FALSE(over);
    return seconds();
  });
  EXPECT_EQ(seen.failure, nullptr);
  over = true;
  const auto later = at::ones({mebibyte}, at::device(cuda).dtype(at::kByte));
}

// Each allocation and free once, in this order, with the segments between.
TEST_F(MemoryOnTheDevice, EveryAllocationIsFreedOnceOrAlive) {
  TwoPhases watched;
  const auto seen = memory::collect(ObservedPass(watched), &seconds);
  std::map<std::uint64_t, int> alive;
  int segments = 0;
  for (const memory::Event& event : seen.history.events) {
    using Action = memory::Event::Action;
    if (event.action == Action::allocate) {
      EXPECT_EQ(++alive[event.address], 1);
      EXPECT_GE(event.size, mebibyte);
    } else if (event.action == Action::free_completed) {
      EXPECT_EQ(--alive[event.address], 0);
    } else if (event.action == Action::segment) {
      ++segments;
    }
  }
  EXPECT_GT(segments, 0);
  const auto count =
      std::ranges::count_if(alive, [](const auto& block) { return block.second == 1; });
  EXPECT_EQ(count, 2) << "weights and what the last step has kept";
}

TEST_F(MemoryOnTheDevice, LargestAllocationsHaveTheirStack) {
  TwoPhases watched;
  const auto seen = memory::collect(ObservedPass(watched), &seconds);
  auto largest = memory::largest_allocations(seen.history, 1);
  ASSERT_EQ(largest.size(), 1u);
  EXPECT_EQ(largest[0].from(), "aten::ones in backward");
  EXPECT_EQ(largest[0].size, 64 * mebibyte);
  memory::symbolise(largest);
  EXPECT_THAT(testing::PrintToString(largest[0].functions), testing::HasSubstr("empty"));
}

}  // namespace
}  // namespace assay

#endif
