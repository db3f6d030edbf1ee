#include "measure/clock.h"

#include <gmock/gmock.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <memory>

namespace assay::measure {
namespace {

using ::testing::ElementsAre;
using Monotonic = std::chrono::steady_clock;

const c10::Device cpu(c10::kCPU);

void spin(double seconds) {
  const auto end = Monotonic::now() + std::chrono::duration<double>(seconds);
  while (Monotonic::now() < end) {
  }
}

class Journal {
 public:
  std::function<void()> entry(const std::string& name) {
    return [this, name] { entries_.push_back(name); };
  }
  std::vector<std::string> take() { return std::exchange(entries_, {}); }

 private:
  std::vector<std::string> entries_;
};

TEST(WallClock, CallsTakeTurnsBetweenProgramsEachBehindItsOwnBeforeAndAFlush) {
  Journal journal;
  const auto clock = make_clock("wall", cpu,
                                {{{journal.entry("before a"), journal.entry("run a")},
                                  {journal.entry("before b"), journal.entry("run b")}},
                                 journal.entry("flush")});
  clock->sample(3);
  EXPECT_THAT(journal.take(), ElementsAre("before a", "flush", "run a", "before b", "flush",
                                          "run b", "before a", "flush", "run a"));
  EXPECT_EQ(clock->last(), 0u);
  clock->sample(1);
  EXPECT_EQ(clock->last(), 1u);
  journal.take();
  clock->call(1);
  EXPECT_THAT(journal.take(), ElementsAre("before b", "run b"));
}

TEST(WallClock, CallsInARowAreMadeByTheProgramBehindOneBefore) {
  Journal journal;
  Call call{journal.entry("before"), journal.entry("run")};
  std::vector<int> rows;
  call.in_a_row = [&](int calls) {
    rows.push_back(calls);
    spin(0.002);
  };
  const auto clock = make_clock("wall", cpu, {{call}, journal.entry("flush")});
  EXPECT_GE(clock->sample(20), 0.002);
  clock->sample(1);
  EXPECT_THAT(rows, ElementsAre(20, 1));
  EXPECT_THAT(journal.take(), ElementsAre("before", "flush", "before", "flush"));
}

TEST(WallClock, PreparingCallsEveryFurtherProgramOnce) {
  Journal journal;
  const auto clock = make_clock("wall", cpu,
                                {{{journal.entry("before a"), journal.entry("run a")},
                                  {journal.entry("before b"), journal.entry("run b")},
                                  {journal.entry("before c"), journal.entry("run c")}},
                                 {}});
  clock->prepare();
  EXPECT_THAT(journal.take(), ElementsAre("before b", "run b", "before c", "run c"));
}

double raw_now_s() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// A second clock measures each spin, which a busy machine lengthens. Preemption between the two
// clocks' readings may spoil some tries, not all.
TEST(WallClock, ASpinOfKnownDurationIsMeasuredWithinOnePercent) {
  for (const double asked_s : {1e-4, 1e-3, 1e-2}) {
    double known_s = 0;
    const auto clock = make_clock("wall", cpu,
                                  {{{[] {},
                                     [&] {
                                       const double begin_s = raw_now_s();
                                       spin(asked_s);
                                       known_s = raw_now_s() - begin_s;
                                     }}},
                                   {}});
    double nearest = 2;
    for (int i = 0; i < 30; ++i) {
      const double share = clock->sample(1) / known_s;
      EXPECT_GE(share, 0.99) << "cut off";
      nearest = std::min(nearest, share);
    }
    EXPECT_LE(nearest, 1.01) << asked_s;
  }
}

TEST(WallClock, WhatHappensBetweenCallsIsLeftOut) {
  const auto clock =
      make_clock("wall", cpu, {{{[] { spin(5e-3); }, [] { spin(1e-4); }}}, [] { spin(5e-3); }});
  double shortest_s = 1;
  for (int i = 0; i < 20; ++i) shortest_s = std::min(shortest_s, clock->sample(2));
  EXPECT_GE(shortest_s, 2e-4 * 0.99);
  EXPECT_LT(shortest_s, 5e-3);
}

TEST(WallClock, TellsItsStepAndWhatItSubtracts) {
  const auto clock = make_clock("wall", cpu, {{{[] {}, [] {}}}, {}});
  EXPECT_GT(clock->resolution_s(), 0);
  EXPECT_LT(clock->resolution_s(), 1e-3);
  EXPECT_EQ(clock->facts().resolution_s, clock->resolution_s());
  EXPECT_GE(clock->facts().overhead_s, 0.0);
  EXPECT_GE(clock->sample(1), 0);
}

TEST(Clocks, OfADeviceThatIsNotThereAreRefused) {
  for (const char* name : {"cuda_event", "cuda_graph", "auto", "sundial"}) {
    EXPECT_THROW(make_clock(name, cpu, {{{[] {}, [] {}}}, {}}), std::invalid_argument) << name;
  }
}

// Some nanoseconds of arithmetic that compilers cannot remove.
class Arithmetic {
 public:
  explicit Arithmetic(int steps) : steps_(steps) {}
  void operator()() {
    std::uint64_t value = value_;
    for (int i = 0; i < steps_; ++i) value = value * 6364136223846793005u + 1442695040888963407u;
    value_ = value;
  }

 private:
  int steps_;
  volatile std::uint64_t value_ = 1;
};

// Compares a batch of calls shorter than a reading's cost with a loop of as many, timed by another
// clock. Preemption and slow phases may spoil some of the tries, each shorter than a time slice,
// but not all of them.
TEST(WallClock, ShortCallsInARowAreAsLongAsALoopOfThem) {
  constexpr double beside_a_call_s = 20e-9;  // a `before` that does nothing
  constexpr int tries = 300;
  for (const int steps : {20, 100, 1000}) {
    const int calls = 400'000 / steps;  // some 0.5 ms
    const auto work = std::make_shared<Arithmetic>(steps);
    const std::function<void()> run = [work] { (*work)(); };
    const auto clock = make_clock("wall", cpu, {{{[] {}, run}}, {}});
    for (int i = 0; i < 10; ++i) clock->sample(1);
    double loop_s = 1, measured_s = 1;
    for (int i = 0; i < tries; ++i) {
      const double begin_s = raw_now_s();
      for (int call = 0; call < calls; ++call) run();
      loop_s = std::min(loop_s, raw_now_s() - begin_s);
      measured_s = std::min(measured_s, clock->sample(calls));
    }
    EXPECT_GE(measured_s, 0.9 * loop_s) << steps << " steps";
    EXPECT_LE(measured_s, 1.1 * loop_s + calls * beside_a_call_s) << steps << " steps";
  }
}

TEST(WallClock, CallsInARowStillGoBehindTheirBefore) {
  Journal journal;
  const auto clock =
      make_clock("wall", cpu, {{{journal.entry("before"), journal.entry("run")}}, {}});
  for (int i = 0; i < 3; ++i) clock->sample(1);
  journal.take();
  clock->sample(3);
  EXPECT_THAT(journal.take(), ElementsAre("before", "run", "before", "run", "before", "run"));
}

Call renewed(Journal& journal, const std::string& name) {
  Call call{[] {}, journal.entry("run " + name)};
  call.renew_ahead = journal.entry("ahead " + name);
  call.renew = journal.entry("renew " + name);
  return call;
}

TEST(WallClock, ARowHasEachProgramOnceWithInputsRenewedAheadOfIt) {
  Journal journal;
  const auto clock = make_clock("wall", cpu, {{renewed(journal, "a")}, {}});
  clock->add({renewed(journal, "b"), renewed(journal, "c")});
  clock->prepare();
  for (int i = 0; i < 3; ++i) clock->sample(1);
  journal.take();
  clock->sample(5);
  EXPECT_THAT(journal.take(), ElementsAre("ahead a", "renew a", "ahead b", "renew b", "ahead c",
                                          "renew c", "run a", "run b", "run c", "ahead a",
                                          "renew a", "ahead b", "renew b", "run a", "run b"));
  EXPECT_EQ(clock->last(), 1u);
  EXPECT_EQ(clock->last_row(), 2u);
  clock->sample(1);
  EXPECT_THAT(journal.take(), ElementsAre("ahead c", "renew c", "run c"));
  EXPECT_EQ(clock->last(), 2u);
  EXPECT_EQ(clock->last_row(), 1u);
}

TEST(WallClock, CallsOfTheOnlyProgramAreRenewedOneByOne) {
  Journal journal;
  const auto clock = make_clock("wall", cpu, {{renewed(journal, "a")}, {}});
  for (int i = 0; i < 3; ++i) clock->sample(1);
  journal.take();
  clock->sample(2);
  EXPECT_THAT(journal.take(),
              ElementsAre("ahead a", "renew a", "run a", "ahead a", "renew a", "run a"));
}

}  // namespace
}  // namespace assay::measure
