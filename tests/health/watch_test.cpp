#include "health/watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace assay::health {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

// Numbers and counts its readings.
class CountingSource : public Source {
 public:
  void read(Depth depth, const std::vector<int>& devices, Reading& reading) override {
    const std::lock_guard lock(mutex_);
    for (const int device : devices) {
      GpuReading gpu;
      gpu.device = device;
      gpu.energy_j = static_cast<double>(depths_.size());
      if (depth == Depth::thorough) gpu.processes.emplace().push_back({1, "", {}});
      reading.gpus.push_back(gpu);
    }
    CpuReading cpu;
    cpu.busy_s = 1;
    reading.cpu = cpu;
    depths_.push_back(depth);
    sigset_t blocked;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    if (::sigismember(&blocked, SIGINT) == 0) ++with_signals_;
    changed_.notify_all();
  }
  std::string subject() const override { return "GPU"; }
  std::string problem() const override { return ""; }

  std::vector<Depth> depths() {
    const std::lock_guard lock(mutex_);
    return depths_;
  }
  std::size_t count() {
    const std::lock_guard lock(mutex_);
    return depths_.size();
  }
  void wait_for(std::size_t readings) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return depths_.size() >= readings; });
  }
  int with_signals() {
    const std::lock_guard lock(mutex_);
    return with_signals_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Depth> depths_;
  int with_signals_ = 0;
};

constexpr double never = 1e6;

std::vector<int> devices_of(const Reading& reading) {
  std::vector<int> devices;
  for (const GpuReading& gpu : reading.gpus) devices.push_back(gpu.device);
  return devices;
}

TEST(Watch, ReadsAtTheBeginInBetweenAndAtTheEnd) {
  const auto source = std::make_shared<CountingSource>();
  Watch watch({source}, {.glance_every_s = 0.001, .look_every_s = never, .share = never});
  const auto ticket = watch.begin({0});
  source->wait_for(20);
  const Observation seen = watch.end(ticket);
  EXPECT_GE(seen.readings.size(), 19u);
  EXPECT_GT(seen.seconds, 0);
  EXPECT_TRUE(
      std::is_sorted(seen.readings.begin(), seen.readings.end(),
                     [](const Reading& a, const Reading& b) { return a.time_s < b.time_s; }));
  const std::vector<Depth> depths = source->depths();
  EXPECT_EQ(depths.front(), Depth::thorough) << "nothing was known before";
  EXPECT_EQ(std::count(depths.begin(), depths.end(), Depth::edge), 1);
  EXPECT_EQ(std::count(depths.begin(), depths.end(), Depth::thorough), 1);
  EXPECT_EQ(source->with_signals(), 1 + 1) << "signals are for the thread that runs cases";
}

TEST(Watch, RestsBetweenCases) {
  const auto source = std::make_shared<CountingSource>();
  Watch watch({source}, {.glance_every_s = never, .look_every_s = never});
  watch.end(watch.begin({0}));
  const std::size_t readings = source->depths().size();
  for (int i = 0; i < 50; ++i) watch.end(watch.begin({0}));
  // The first glance may fall on any case; each has two readings of its own.
  EXPECT_LE(source->depths().size(), readings + 50 * 2 + 1);
  EXPECT_GE(source->depths().size(), readings + 50) << "each has one of its own at its end";
}

// Many cases: one may begin at any point of a glance at the earlier ones.
TEST(Watch, CasesAtATimeSeeTheirOwnDevices) {
  const auto source = std::make_shared<CountingSource>();
  Watch watch({source}, {.glance_every_s = 0, .look_every_s = never, .share = never});
  const auto a = watch.begin({0});
  for (int i = 0; i < 300; ++i) {
    const auto b = watch.begin({1, 2});
    source->wait_for(source->count() + 2);
    for (const Reading& reading : watch.end(b).readings) {
      ASSERT_THAT(devices_of(reading), UnorderedElementsAre(1, 2)) << "case " << i;
    }
  }
  for (const Reading& reading : watch.end(a).readings) {
    ASSERT_THAT(devices_of(reading), ElementsAre(0));
  }
}

// As slow as a driver.
class SlowSource final : public CountingSource {
 public:
  void read(Depth depth, const std::vector<int>& devices, Reading& reading) override {
    const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(200);
    while (std::chrono::steady_clock::now() < until) std::this_thread::yield();
    CountingSource::read(depth, devices, reading);
  }
};

TEST(Watch, TheReadingAtTheEndIsTheLast) {
  const auto source = std::make_shared<SlowSource>();
  Watch watch({source}, {.glance_every_s = 0.0005, .look_every_s = never, .share = never});
  for (int i = 0; i < 500; ++i) {
    const auto ticket = watch.begin({0});
    source->wait_for(source->count() + 2);
    const Observation seen = watch.end(ticket);
    ASSERT_TRUE(
        std::is_sorted(seen.readings.begin(), seen.readings.end(),
                       [](const Reading& a, const Reading& b) { return a.time_s < b.time_s; }))
        << "case " << i;
  }
}

TEST(Watch, AShortCaseKnowsTheProcessesThatWereLookedUpBefore) {
  const auto source = std::make_shared<CountingSource>();
  Watch watch({source}, {.glance_every_s = never, .look_every_s = never});
  watch.end(watch.begin({0}));
  const Observation second = watch.end(watch.begin({0}));
  ASSERT_EQ(second.processes_before.size(), 1u);
  ASSERT_TRUE(second.processes_before[0].processes);
  EXPECT_EQ(second.processes_before[0].processes->size(), 1u);
  const std::vector<Depth> depths = source->depths();
  EXPECT_EQ(std::count(depths.begin(), depths.end(), Depth::thorough), 1);
}

TEST(Watch, WithoutSourcesThereIsNothingToTell) {
  Watch watch(std::vector<std::shared_ptr<Source>>{});
  const Observation seen = watch.end(watch.begin({0}));
  for (const Reading& reading : seen.readings) {
    EXPECT_TRUE(reading.gpus.empty());
    EXPECT_FALSE(reading.cpu);
  }
}

TEST(Watch, AVeryLongCaseKeepsABoundedNumberOfReadings) {
  const auto source = std::make_shared<CountingSource>();
  Watch watch({source}, {.glance_every_s = 0, .look_every_s = never, .share = never});
  const auto ticket = watch.begin({0});
  source->wait_for(20000);
  const Observation seen = watch.end(ticket);
  EXPECT_LE(seen.readings.size(), 4096u);
  EXPECT_GE(seen.readings.size(), 1024u);
  EXPECT_EQ(seen.readings.front().gpus[0].energy_j, 0.0);
  EXPECT_GE(seen.readings.back().gpus[0].energy_j, 19999.0) << "the last is the one at the end";
}

}  // namespace
}  // namespace assay::health
