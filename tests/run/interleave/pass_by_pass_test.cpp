#include "run/interleave/pass_by_pass.h"

#include <gmock/gmock.h>

#include <chrono>
#include <map>

namespace assay::run {
namespace {

using ::testing::ElementsAre;

ResolvedCase three_passes() {
  ResolvedCase resolved;
  resolved.request.passes = {"forward", "backward", "step"};
  resolved.time_limit_s = 60;
  return resolved;
}

CaseEnd ended(Outcome outcome, std::string reason = {}) {
  CaseEnd end;
  end.outcome = outcome;
  end.reason = std::move(reason);
  return end;
}

store::Series time_of(const std::string& pass) {
  return {.pass = pass, .metric = "time", .unit = "s", .samples = {1}};
}

// Each pass keeps its own outcome in its cell.
TEST(PassByPass, EachPassHasItsOwnOutcomeAndTheCaseTheWorst) {
  std::vector<std::string> asked;
  const CaseEnd end = measure_pass_by_pass(three_passes(), [&](const ResolvedCase& one) {
    EXPECT_EQ(one.request.passes.size(), 1u);
    const std::string pass = one.request.passes[0];
    asked.push_back(pass);
    if (pass == "forward") return ended(Outcome::unsupported, "not this");
    if (pass == "backward") return ended(Outcome::crashed, "SIGSEGV");
    CaseEnd fine = ended(Outcome::ok);
    fine.series.push_back(time_of(pass));
    return fine;
  });
  EXPECT_THAT(asked, ElementsAre("forward", "backward", "step"));
  EXPECT_EQ(end.outcome, Outcome::crashed);
  EXPECT_EQ(end.reason, "SIGSEGV");
  std::map<std::string, Outcome> outcomes;
  for (const store::Series& series : end.series) {
    EXPECT_EQ(series.metric, "time");
    outcomes[series.pass] = series.outcome;
  }
  EXPECT_EQ(outcomes, (std::map<std::string, Outcome>{{"forward", Outcome::unsupported},
                                                      {"backward", Outcome::crashed},
                                                      {"step", Outcome::ok}}));
}

TEST(PassByPass, WhatIsKnownOfThePassesIsPutTogether) {
  const CaseEnd end = measure_pass_by_pass(three_passes(), [](const ResolvedCase& one) {
    const std::string pass = one.request.passes[0];
    CaseEnd part = ended(Outcome::ok);
    part.series.push_back(time_of(pass));
    part.facts.output = "in " + pass + "\n";
    part.facts.timing[pass].samples = 1;
    return part;
  });
  EXPECT_EQ(end.outcome, Outcome::ok);
  EXPECT_EQ(end.facts.output, "in forward\nin backward\nin step\n");
  EXPECT_EQ(end.facts.timing.size(), 3u);
}

// The time limit holds for the whole case: here the first pass uses it up.
TEST(PassByPass, PassesThatNoTimeIsLeftForAreNotBegun) {
  ResolvedCase resolved = three_passes();
  resolved.time_limit_s = 1e-3;
  int measured = 0;
  const CaseEnd end = measure_pass_by_pass(resolved, [&](const ResolvedCase& one) {
    ++measured;
    const auto begin = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(2)) {
    }
    CaseEnd fine = ended(Outcome::ok);
    fine.series.push_back(time_of(one.request.passes[0]));
    return fine;
  });
  EXPECT_EQ(measured, 1);
  EXPECT_EQ(end.outcome, Outcome::timeout);
  EXPECT_EQ(end.reason, "the case's 0.0 s ran out before this pass");
  ASSERT_EQ(end.series.size(), 3u);
  EXPECT_EQ(end.series[2].outcome, Outcome::timeout);
}

TEST(PassByPass, AnInterruptEndsTheCase) {
  int measured = 0;
  const CaseEnd end = measure_pass_by_pass(three_passes(), [&](const ResolvedCase&) {
    CaseEnd part = ended(Outcome::ok);
    part.interrupted = ++measured == 2;
    return part;
  });
  EXPECT_EQ(measured, 2);
  EXPECT_TRUE(end.interrupted);
}

}  // namespace
}  // namespace assay::run
