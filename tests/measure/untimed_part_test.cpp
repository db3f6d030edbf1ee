#include "worker/pass/untimed_part.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <time.h>

#include <utility>

#include "measure/idle_program.h"

namespace assay::worker {
namespace {

using ::testing::HasSubstr;

double worked_s() {
  timespec now = {};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// On a core.
void work_for(double seconds) {
  const double end_s = worked_s() + seconds;
  while (worked_s() < end_s) {
  }
}

// Works for so long ahead of each call.
class Preparing final : public test::IdleProgram {
 public:
  explicit Preparing(double seconds) : seconds_(seconds) {}
  Outcome ends_with = Outcome::ok;
  int short_call = 0;  // the one that takes a quarter of the time, from 1

  Status before(const std::string&) noexcept override {
    work_for(++calls_ == short_call ? seconds_ / 4 : seconds_);
    return {ends_with, ends_with == Outcome::ok ? "" : "as told"};
  }

 private:
  double seconds_;
  int calls_ = 0;
};

constexpr double own_s = 2e-3;

// Of a step that works for so much longer than the program, whose operations are as quick as those
// of a plain one or take so many times as long.
Status judged(double longer_s, bool operations_selected = false, double slower = 1,
              int short_call = 0) {
  Preparing program(own_s);
  program.short_call = short_call;
  const std::string pass = "backward";
  const GuardedStep step = {.before =
                                [&] {
                                  work_for(longer_s);
                                  return program.before(pass);
                                },
                            .run = [] { return Status(); }};
  Composition composition;
  composition.operations_selected = operations_selected;
  const auto build_plain = [&] {
    return AnotherProgram{std::make_unique<Composition>(),
                          std::make_unique<Preparing>(own_s / slower)};
  };
  return judge_untimed_part({.step = step,
                             .program = program,
                             .pass = pass,
                             .composition = composition,
                             .bytes = {},
                             .build_plain = build_plain});
}

TEST(UntimedPart, MayTakeAsLongAsTheProgramsOwn) {
  EXPECT_TRUE(judged(0).ok()) << judged(0).reason;
  EXPECT_TRUE(judged(0, true).ok()) << judged(0, true).reason;
}

// The second call is the program's own of the first try.
TEST(UntimedPart, IsNoLongerForOneTryThatTheProgramHasBeenLuckyIn) {
  const Status found = judged(0, false, 1, 2);
  EXPECT_TRUE(found.ok()) << found.reason;
  EXPECT_EQ(judged(own_s / 2, false, 1, 2).outcome, Outcome::wrong);
}

TEST(UntimedPart, ThatDoesMoreThanTheProgramIsWrong) {
  const Status found = judged(own_s / 2);
  EXPECT_EQ(found.outcome, Outcome::wrong);
  EXPECT_THAT(found.reason, HasSubstr("ahead of each call, untimed, it works for "));
}

// They take no longer in the step than alone.
TEST(UntimedPart, OfSlowOperationsMayDoABackwardsWork) {
  const Status found = judged(0, true, 2);
  EXPECT_EQ(found.outcome, Outcome::unsupported);
  EXPECT_THAT(found.reason, HasSubstr("may do a part of its work"));
  EXPECT_TRUE(judged(0, false, 2).ok());
}

TEST(UntimedPart, IsNotJudgedWhereMemoryLacksForIt) {
  Preparing program(0);
  program.ends_with = Outcome::oom;
  const std::string pass = "backward";
  const Composition composition;
  const GuardedStep step = {.before =
                                [] {
                                  work_for(own_s);
                                  return Status();
                                },
                            .run = [] { return Status(); }};
  EXPECT_TRUE(judge_untimed_part({step, program, pass, composition, {}, {}}).ok());
}

}  // namespace
}  // namespace assay::worker
