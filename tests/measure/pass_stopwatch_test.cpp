#include "worker/pass/pass_stopwatch.h"

#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "measure/idle_program.h"

namespace assay::worker {
namespace {

// Every reading takes `reading_s`.
class CountingClock : public measure::Clock {
 public:
  explicit CountingClock(double reading_s) : reading_s_(reading_s) {}

  std::string name() const override { return "wall"; }
  double resolution_s() const override { return 1e-9; }
  double shortest_reading_s() const override { return 0; }
  bool makes_rows() const override { return false; }
  void add(std::vector<measure::Call>) override {}
  double sample(int calls) override {
    ++readings;
    calls_ = calls;
    return reading_s_;
  }
  void call(std::size_t) override {}
  std::size_t last() const override { return 0; }
  std::size_t last_row() const override { return 1; }
  store::ClockFacts facts() const override { return {}; }

  int calls() const { return calls_; }

  int readings = 0;

 private:
  double reading_s_;
  int calls_ = 0;
};

class BringBackCaches : public ::testing::Test {
 protected:
  // Untimed readings behind a warm-up call that takes `warm_up_s`, behind a reading of three calls,
  // and the calls of the last reading.
  std::vector<int> readings(double warm_up_s, double reading_s, double long_reading_s) {
    CountingClock wall(warm_up_s);
    CountingClock clock(reading_s);
    const std::vector<CalledProgram> none;
    TimedLooks looks({.pass = "forward", .readings = 10});
    PassStopwatch stopwatch({.clock = clock,
                             .wall = wall,
                             .programs = none,
                             .looks = looks,
                             .long_reading_s = long_reading_s});
    stopwatch.warm_up_s();
    stopwatch.bring_back_caches();
    const int first = clock.readings;
    stopwatch.sample_s(3);
    stopwatch.bring_back_caches();
    return {first, clock.readings - first - 1, clock.calls()};
  }
};

TEST_F(BringBackCaches, ReadsAgainUnlessTheLastReadingWasLong) {
  EXPECT_EQ(readings(0.01, 0.02, 0.1), (std::vector{1, 1, 3}));
  EXPECT_EQ(readings(0.01, 0.1, 0.1), (std::vector{1, 0, 3}));
  EXPECT_EQ(readings(0.2, 0.02, 0.1), (std::vector{1, 1, 3})) << "a first call may take long";
}

TEST_F(BringBackCaches, AlwaysReadsAgainWhereNoReadingIsLong) {
  EXPECT_EQ(readings(5, 5, std::numeric_limits<double>::infinity()), (std::vector{1, 1, 3}));
}

TEST(LongReading, IsOneOfAGpuAndOfOneRank) {
  EXPECT_EQ(long_reading_s(c10::Device("cuda:0"), 1), 0.1);
  EXPECT_EQ(long_reading_s(c10::Device("cuda:0"), 2), std::numeric_limits<double>::infinity());
  EXPECT_EQ(long_reading_s(c10::Device("cpu"), 1), std::numeric_limits<double>::infinity());
}

using Log = std::vector<std::string>;

class LoggingClock final : public CountingClock {
 public:
  explicit LoggingClock(Log& log) : CountingClock(0.01), log_(log) {}
  double sample(int calls) override {
    log_.push_back("reading");
    return CountingClock::sample(calls);
  }

 private:
  Log& log_;
};

class LookedAt final : public test::IdleProgram {
 public:
  explicit LookedAt(Log& log) : log_(log) {}

  Status outputs(const std::string&, std::vector<NamedTensor>& tensors) noexcept override {
    tensors = {{"y", y_}};
    return {};
  }
  Status look(const std::string&, const Look&, Verification& found) noexcept override {
    log_.push_back("look");
    found = {.checked = true, .error = 0, .tolerance = 1, .worst = "y"};
    return {};
  }

 private:
  Log& log_;
  at::Tensor y_ = at::ones({4});
};

TEST(LooksOfAStopwatch, AreAtTheReadingAheadAndGiveBackWhatTheyTookBeforeAnUntimedOne) {
  Log log;
  CountingClock wall(0.01);
  LoggingClock clock(log);
  LookedAt program(log);
  InputRenewal renewal(program, "forward", 1, Integrity::fast);
  const std::vector<CalledProgram> programs = {{&program, &renewal}};
  TimedLooks looks({.pass = "forward", .readings = 1});
  PassStopwatch stopwatch(
      {.clock = clock, .wall = wall, .programs = programs, .looks = looks, .after_look = [&] {
         log.push_back("given back");
       }});
  stopwatch.look();
  EXPECT_EQ(log, Log()) << "nothing has been read";
  stopwatch.expect();
  stopwatch.sample_s(1);
  stopwatch.look();
  EXPECT_EQ(log, (Log{"reading", "look", "given back", "reading"}));
  stopwatch.look();
  EXPECT_EQ(log.size(), 4u) << "that reading is not looked at";
}

}  // namespace
}  // namespace assay::worker
