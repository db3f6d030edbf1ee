#include <gtest/gtest.h>

#include <array>
#include <barrier>
#include <cmath>
#include <thread>

#include "statistics/noise.h"
#include "timing/fake_stopwatch.h"
#include "timing/sampling.h"

namespace assay::timing {
namespace {

SamplingSettings until(double target) {
  SamplingSettings settings;
  settings.target = target;
  settings.max_samples = 100'000;
  settings.max_time_s = 1e9;
  return settings;
}

TEST(Stopping, WithoutATargetItTakesTheSamplesAskedFor) {
  FakeStopwatch stopwatch(test::noises()[0].start(1));
  const Taken taken = take(stopwatch, {.samples = 17});
  EXPECT_EQ(taken.samples_s.size(), 17u);
  EXPECT_EQ(taken.stopped_by, StoppedBy::count);
  EXPECT_GT(taken.relative_interval, 0);
}

TEST(Stopping, AConstantTimeIsKnownAtTheFirstLook) {
  FakeStopwatch stopwatch(constant(0.002));
  const Taken taken = take(stopwatch, until(0.001));
  EXPECT_EQ(taken.samples_s.size(), 10u);
  EXPECT_EQ(taken.stopped_by, StoppedBy::target);
  EXPECT_EQ(to_text(taken.stopped_by), "target");
  EXPECT_NEAR(taken.relative_interval, 0, 1e-9);
}

TEST(Stopping, ASmallerTargetTakesMoreSamples) {
  std::size_t last = 0;
  for (const double target : {0.05, 0.02, 0.01, 0.005}) {
    FakeStopwatch stopwatch(test::noises()[0].start(5));
    const Taken taken = take(stopwatch, until(target));
    EXPECT_GT(taken.samples_s.size(), last);
    EXPECT_LE(taken.relative_interval, target);
    last = taken.samples_s.size();
  }
}

TEST(Stopping, TheMostSamplesEndIt) {
  FakeStopwatch stopwatch(test::noises()[0].start(1));
  SamplingSettings settings = until(0.0001);
  settings.max_samples = 50;
  const Taken taken = take(stopwatch, settings);
  EXPECT_EQ(taken.samples_s.size(), 50u);
  EXPECT_EQ(taken.stopped_by, StoppedBy::max_samples);
  EXPECT_GT(taken.relative_interval, 0.0001);
}

TEST(Stopping, FewerAtMostThanAtLeastIsAtMost) {
  FakeStopwatch stopwatch(constant(1));
  SamplingSettings settings = until(0.01);
  settings.min_samples = 20;
  settings.max_samples = 12;
  EXPECT_EQ(take(stopwatch, settings).samples_s.size(), 12u);
}

TEST(Stopping, TheTimeBudgetIsKept) {
  FakeStopwatch stopwatch(test::noises()[0].start(1));  // some 1 s a call
  stopwatch.untimed_s = 0.5;
  SamplingSettings settings = until(0.0001);
  settings.warmup = 1;
  settings.max_time_s = 30;
  const double before_s = stopwatch.now_s;
  const Taken taken = take(stopwatch, settings);
  EXPECT_EQ(taken.stopped_by, StoppedBy::max_time);
  // 30 s of 1.5 s a reading, after one call of warming up.
  EXPECT_NEAR(static_cast<double>(taken.samples_s.size()), 20, 1);
  EXPECT_LE(stopwatch.now_s - before_s, 31.2);
}

TEST(Stopping, ThereIsASampleHoweverLateItIs) {
  FakeStopwatch stopwatch(constant(100));
  SamplingSettings settings = until(0.01);
  settings.max_time_s = 1;
  const Taken taken = take(stopwatch, settings);
  ASSERT_EQ(taken.samples_s.size(), 1u);
  EXPECT_DOUBLE_EQ(taken.samples_s[0], 100);
  EXPECT_EQ(taken.stopped_by, StoppedBy::max_time);
  EXPECT_TRUE(std::isinf(taken.relative_interval));
}

TEST(Stopping, WaitingForOthersIsNotItsTime) {
  FakeStopwatch stopwatch(constant(1));
  SamplingSettings settings = until(0.01);
  settings.max_time_s = 15;
  Hooks hooks;
  hooks.before_reading = [&](std::size_t) { stopwatch.now_s += 1000; };
  const Taken taken = take(stopwatch, settings, hooks);
  EXPECT_EQ(taken.samples_s.size(), 10u);
  EXPECT_EQ(taken.stopped_by, StoppedBy::target);
}

// The level never settles: more samples do not make it better known.
TEST(Stopping, ADriftNeverReachesTheTarget) {
  double time_s = 1;
  FakeStopwatch stopwatch([&] { return time_s += 0.0005; });
  SamplingSettings settings = until(0.01);
  settings.max_samples = 500;
  const Taken taken = take(stopwatch, settings);
  EXPECT_EQ(taken.stopped_by, StoppedBy::max_samples);
  EXPECT_EQ(taken.samples_s.size(), 500u);
  EXPECT_GT(taken.relative_interval, 0.1);
}

TEST(Stopping, AStepOfTheClockIsNotKnownBetterThanHalf) {
  // Every reading shows 10 steps, for calls of 10 to 10.9.
  FakeStopwatch stopwatch(constant(0.01));
  stopwatch.now_s = 0.0005;
  stopwatch.step_s = 0.001;
  SamplingSettings settings = until(0.02);
  settings.resolution_s = 0.001;
  const Taken taken = take(stopwatch, settings);
  EXPECT_EQ(taken.stopped_by, StoppedBy::target);
  // Half a step is 5 % of one call: 1 % needs 5 calls in a reading.
  EXPECT_GE(taken.calls_in_reading, 5);
  EXPECT_GE(taken.relative_interval, 0.0005 / (0.01 * taken.calls_in_reading));
  EXPECT_LE(taken.relative_interval, 0.02);
}

class StoppingUnder : public testing::TestWithParam<test::Noise> {};

// In 95 of 100 measurements that report the target as reached, over all their looks, the median of
// the distribution is within it.
TEST_P(StoppingUnder, KeepsItsPromise) {
  const test::Noise& noise = GetParam();
  constexpr int experiments = 1000;
  for (const double target : {0.02, 0.01, 0.005}) {
    int reached = 0, held = 0;
    for (int experiment = 0; experiment < experiments; ++experiment) {
      FakeStopwatch stopwatch(noise.start(static_cast<std::uint64_t>(experiment)));
      const Taken taken = take(stopwatch, until(target));
      const double found = test::median_of(taken.samples_s);
      reached += taken.stopped_by == StoppedBy::target;
      held += std::abs(found - noise.median) <= target * found;
    }
    EXPECT_EQ(reached, experiments) << "target " << target;
    EXPECT_GE(held, 950) << "target " << target;
  }
}

INSTANTIATE_TEST_SUITE_P(Noises, StoppingUnder, testing::ValuesIn(test::noises()),
                         test::noise_name);

// Two ranks of a job, each with its own times.
class Job {
 public:
  std::array<Taken, 2> run(const SamplingSettings& settings,
                           const std::array<std::function<double()>, 2>& durations) {
    std::array<Taken, 2> taken;
    std::array<std::thread, 2> ranks;
    for (std::size_t rank = 0; rank < 2; ++rank) {
      ranks[rank] = std::thread([&, rank] {
        FakeStopwatch stopwatch(durations[rank]);
        Hooks hooks;
        hooks.worst_of_ranks = [&, rank](double value) { return worst(rank, value); };
        taken[rank] = take(stopwatch, settings, hooks);
      });
    }
    for (std::thread& rank : ranks) rank.join();
    return taken;
  }

 private:
  double worst(std::size_t rank, double value) {
    values_[rank] = value;
    all_here_.arrive_and_wait();
    const double largest = std::max(values_[0], values_[1]);
    all_here_.arrive_and_wait();
    return largest;
  }

  std::array<double, 2> values_{};
  std::barrier<> all_here_{2};
};

TEST(Ranks, GoOnUntilTheNoisierKnowsItsMedian) {
  const auto noise = [](double deviation, int seed) {
    return [=, generator = std::mt19937_64(static_cast<std::uint64_t>(seed))]() mutable {
      return 1 + std::normal_distribution<double>(0, deviation)(generator);
    };
  };
  const auto both = Job().run(until(0.01), {noise(0.001, 1), noise(0.05, 2)});
  const auto quiet = Job().run(until(0.01), {noise(0.001, 1), noise(0.001, 2)});
  EXPECT_EQ(both[0].samples_s.size(), both[1].samples_s.size());
  EXPECT_GT(both[0].samples_s.size(), 100u);
  EXPECT_EQ(quiet[0].samples_s.size(), 10u);
  EXPECT_EQ(both[0].stopped_by, both[1].stopped_by);
  EXPECT_EQ(both[0].relative_interval, both[1].relative_interval);
}

TEST(Ranks, GroupAsTheFastestNeeds) {
  SamplingSettings settings;
  settings.shortest_reading_s = 1e-3;
  const auto taken = Job().run(settings, {constant(2e-3), constant(1e-5)});
  EXPECT_EQ(taken[0].calls_in_reading, taken[1].calls_in_reading);
  EXPECT_GE(taken[0].calls_in_reading, 100);
  EXPECT_NEAR(taken[0].samples_s[0], 2e-3, 1e-9);
  EXPECT_NEAR(taken[1].samples_s[0], 1e-5, 1e-11);
}

TEST(Ranks, StopTogetherWhenTheTimeOfOneIsOver) {
  SamplingSettings settings = until(1e-6);
  settings.max_time_s = 20;
  const auto noise = [](double mean, int seed) {
    return [=, generator = std::mt19937_64(static_cast<std::uint64_t>(seed))]() mutable {
      return mean * (1 + std::normal_distribution<double>(0, 0.01)(generator));
    };
  };
  const auto taken = Job().run(settings, {noise(0.1, 1), noise(1, 2)});
  EXPECT_EQ(taken[0].samples_s.size(), taken[1].samples_s.size());
  EXPECT_EQ(taken[0].stopped_by, StoppedBy::max_time);
  EXPECT_EQ(taken[1].stopped_by, StoppedBy::max_time);
  EXPECT_NEAR(static_cast<double>(taken[0].samples_s.size()), 19, 2);
}

}  // namespace
}  // namespace assay::timing
