#include "timing/sampling.h"

#include <gtest/gtest.h>

#include <numeric>
#include <stdexcept>

#include "statistics/noise.h"
#include "timing/fake_stopwatch.h"

namespace assay::timing {
namespace {

// The first call takes a second, the others a millisecond.
std::function<double()> slow_at_first() {
  return [first = true]() mutable { return std::exchange(first, false) ? 1.0 : 0.001; };
}

TEST(FirstCall, IsTheFirstOfTheWarmUpAndInNoSample) {
  FakeStopwatch stopwatch(slow_at_first());
  const Taken taken = take(stopwatch, {.warmup = 3, .samples = 4});
  EXPECT_DOUBLE_EQ(taken.first_call_s, 1);
  EXPECT_EQ(stopwatch.warm_up_calls, 3);
  EXPECT_EQ(stopwatch.prepared_after, 3);
  ASSERT_EQ(taken.samples_s.size(), 4u);
  for (const double sample_s : taken.samples_s) EXPECT_NEAR(sample_s, 0.001, 1e-9);
}

TEST(FirstCall, WithoutAWarmUpIsInTheFirstSample) {
  FakeStopwatch stopwatch(slow_at_first());
  SamplingSettings settings{.warmup = 0, .samples = 3, .shortest_reading_s = 0.1};
  const Taken taken = take(stopwatch, settings);
  EXPECT_EQ(stopwatch.warm_up_calls, 0);
  EXPECT_EQ(stopwatch.prepared_after, 0);
  EXPECT_DOUBLE_EQ(taken.first_call_s, 1);
  ASSERT_EQ(taken.samples_s.size(), 3u);
  EXPECT_DOUBLE_EQ(taken.samples_s[0], 1);
  // A batch would need calls ahead of the first sample.
  EXPECT_EQ(stopwatch.calls_of_reading, (std::vector<int>{1, 1, 1}));
  EXPECT_TRUE(taken.too_short);
}

TEST(Samples, AreSumsOfTheCallsAskedFor) {
  FakeStopwatch stopwatch(constant(0.25));
  const Taken taken = take(stopwatch, {.samples = 2, .calls_per_sample = 4});
  EXPECT_EQ(taken.calls_in_reading, 4);
  ASSERT_EQ(taken.samples_s.size(), 2u);
  EXPECT_DOUBLE_EQ(taken.samples_s[0], 1);
  EXPECT_DOUBLE_EQ(taken.samples_s[1], 1);
}

// A program that says how many calls it makes in a row gets no more of them, however short.
TEST(Samples, AreMeansOfTheCallsInARow) {
  FakeStopwatch stopwatch(constant(0.001));
  const Taken taken =
      take(stopwatch, {.samples = 3, .samples_in_reading = 20, .shortest_reading_s = 1});
  EXPECT_EQ(stopwatch.calls_of_reading, (std::vector<int>{20, 20, 20}));
  EXPECT_EQ(taken.calls_in_reading, 20);
  ASSERT_EQ(taken.samples_s.size(), 3u);
  for (const double sample_s : taken.samples_s) EXPECT_NEAR(sample_s, 0.001, 1e-12);
}

TEST(Samples, AFailureEndsThem) {
  int calls = 0;
  FakeStopwatch stopwatch([&]() -> double {
    if (++calls == 8) throw std::runtime_error("gave up");
    return 1;
  });
  EXPECT_THROW(take(stopwatch, {}), std::runtime_error);
}

TEST(Hooks, AreCalledAheadOfEachReadingAfterTheWarmUp) {
  FakeStopwatch stopwatch(constant(1));
  std::vector<std::string> events;
  Hooks hooks;
  hooks.warmed_up = [&] {
    events.push_back("warm after " + std::to_string(stopwatch.warm_up_calls));
  };
  hooks.before_reading = [&](std::size_t reading) {
    events.push_back(std::to_string(reading) + " after " +
                     std::to_string(stopwatch.calls_of_reading.size()));
  };
  take(stopwatch, {.warmup = 2, .samples = 3}, hooks);
  EXPECT_EQ(events,
            (std::vector<std::string>{"warm after 2", "0 after 0", "1 after 1", "2 after 2"}));
}

TEST(Grouping, LeavesLongCallsAlone) {
  FakeStopwatch stopwatch(constant(0.01));
  SamplingSettings settings{.samples = 5, .shortest_reading_s = 0.01 * 0.999};
  const Taken taken = take(stopwatch, settings);
  EXPECT_EQ(stopwatch.calls_of_reading, (std::vector<int>{1, 1, 1, 1, 1}));
  EXPECT_EQ(taken.calls_in_reading, 1);
  EXPECT_FALSE(taken.too_short);
}

struct CoarseClock {
  double call_s;
  double step_s;
  bool one_by_one;
};

class GroupingOn : public testing::TestWithParam<CoarseClock> {};

// A single call shows 0 clock steps, or now and then 1.
TEST_P(GroupingOn, ACoarseClockIsRightWithinAPercent) {
  const CoarseClock& coarse = GetParam();
  FakeStopwatch stopwatch(constant(coarse.call_s));
  stopwatch.step_s = coarse.step_s;
  stopwatch.one_by_one = coarse.one_by_one;
  SamplingSettings settings{
      .samples = 20, .resolution_s = coarse.step_s, .shortest_reading_s = 1000 * coarse.step_s};
  const Taken taken = take(stopwatch, settings);
  EXPECT_FALSE(taken.too_short);
  ASSERT_EQ(taken.samples_s.size(), 20u);
  for (const double sample_s : taken.samples_s) {
    EXPECT_NEAR(sample_s, coarse.call_s, 0.01 * coarse.call_s);
  }
  EXPECT_NEAR(test::median_of(taken.samples_s), coarse.call_s, 0.002 * coarse.call_s);
}

INSTANTIATE_TEST_SUITE_P(Clocks, GroupingOn,
                         testing::Values(CoarseClock{37e-6, 1e-3, false},
                                         CoarseClock{1.7e-3, 1e-3, false},
                                         CoarseClock{0.31e-6, 1e-6, true},
                                         CoarseClock{5.3e-6, 0.5e-6, true},
                                         CoarseClock{4.1e-8, 1e-9, false}));

TEST(Grouping, KeepsSumsOfSeveralCallsWhole) {
  FakeStopwatch stopwatch(constant(1e-6));
  SamplingSettings settings{.samples = 3, .calls_per_sample = 7, .shortest_reading_s = 1e-3};
  const Taken taken = take(stopwatch, settings);
  EXPECT_EQ(taken.calls_in_reading % 7, 0);
  EXPECT_GE(taken.calls_in_reading, 1000);
  for (const double sample_s : taken.samples_s) EXPECT_NEAR(sample_s, 7e-6, 1e-11);
}

// An interrupt makes the first reading look long enough.
TEST(Grouping, IsNotMisledByASlowFirstReading) {
  FakeStopwatch stopwatch([calls = 0]() mutable { return ++calls == 6 ? 1e-3 : 1e-6; });
  SamplingSettings settings{.warmup = 5, .samples = 10, .shortest_reading_s = 1e-4};
  const Taken taken = take(stopwatch, settings);
  EXPECT_GE(taken.calls_in_reading, 100);
  ASSERT_EQ(taken.samples_s.size(), 10u);
  for (const double sample_s : taken.samples_s) EXPECT_NEAR(sample_s, 1e-6, 1e-11);
}

TEST(Grouping, GivesUpOnCallsThatTakeNoTime) {
  FakeStopwatch stopwatch(constant(0));
  SamplingSettings settings{.samples = 3, .shortest_reading_s = 1e-3};
  const Taken taken = take(stopwatch, settings);
  EXPECT_TRUE(taken.too_short);
  EXPECT_EQ(taken.samples_s, (std::vector<double>{0, 0, 0}));
  const int calls =
      std::accumulate(stopwatch.calls_of_reading.begin(), stopwatch.calls_of_reading.end(), 0);
  EXPECT_LT(calls, 1'000'000);
}

// Untimed work ahead of every call can take far longer than the call.
TEST(Grouping, GivesUpWhereReadingsTakeTooLong) {
  FakeStopwatch stopwatch(constant(1e-6));
  stopwatch.untimed_s = 0.2;
  SamplingSettings settings{.samples = 3, .shortest_reading_s = 1e-4};
  const Taken taken = take(stopwatch, settings);
  EXPECT_TRUE(taken.too_short);
  EXPECT_EQ(stopwatch.calls_of_reading, (std::vector<int>{1, 1, 1}));
}

}  // namespace
}  // namespace assay::timing
