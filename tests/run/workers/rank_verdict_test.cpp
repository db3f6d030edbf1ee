#include "run/workers/rank_verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay::run {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

const auto beginning = std::chrono::steady_clock::time_point();

RankEnd ok() { return {.done = true}; }
RankEnd failed(Outcome outcome, const std::string& reason, int after_s = 0) {
  return {
      .done = true, .status = {outcome, reason}, .when = beginning + std::chrono::seconds(after_s)};
}
RankEnd running(std::optional<std::int64_t> collectives = {}, const std::string& activity = "") {
  return {.collectives = collectives, .activity = activity};
}

TEST(RankVerdict, AllDoneIsOk) { EXPECT_TRUE(verdict_of({ok(), ok()}, 5).status.ok()); }

TEST(RankVerdict, ADeadRankSaysMoreThanThoseItLeft) {
  const auto verdict = verdict_of({failed(Outcome::error, "Connection closed by peer [127.0.0.1]"),
                                   failed(Outcome::crashed, "rank 1 ended with signal 9", 1)},
                                  5);
  EXPECT_EQ(verdict.status.outcome, Outcome::crashed);
  EXPECT_EQ(verdict.status.reason, "rank 1 ended with signal 9");
  EXPECT_EQ(verdict.rank, 1u);
}

TEST(RankVerdict, TheFirstFailureOfItsOwnCountsAndIsNamed) {
  const auto verdict =
      verdict_of({failed(Outcome::error, "second", 2), failed(Outcome::error, "Broken pipe", 0),
                  failed(Outcome::error, "first", 1), running()},
                 5);
  EXPECT_EQ(verdict.status.reason, "rank 2: first");
}

TEST(RankVerdict, WhatAllSayNamesNobody) {
  const auto declined = failed(Outcome::unsupported, "needs CUDA");
  EXPECT_EQ(verdict_of({declined, declined}, 5).status.reason, "needs CUDA");
  EXPECT_EQ(verdict_of({ok(), declined}, 5).status.reason, "rank 1: needs CUDA");
}

TEST(RankVerdict, TheRankThatDidNotArriveIsNamed) {
  const auto verdict = verdict_of({running(7, "forward"), running(6, "forward"), running(7)}, 12);
  EXPECT_EQ(verdict.status.outcome, Outcome::timeout);
  EXPECT_THAT(verdict.status.reason, StartsWith("rank 1 did not finish within 12"));
  EXPECT_THAT(verdict.status.reason, HasSubstr("it has begun 6 collectives, others 7"));
  EXPECT_THAT(verdict.status.reason, HasSubstr("(at 'forward')"));
}

TEST(RankVerdict, WithoutKnowledgeAllThatAreLateAreNamed) {
  EXPECT_THAT(verdict_of({running(), running()}, 12).status.reason,
              StartsWith("ranks 0, 1 did not finish within 12"));
  EXPECT_THAT(verdict_of({ok(), running()}, 12).status.reason,
              StartsWith("rank 1 did not finish within 12"));
  EXPECT_THAT(verdict_of({running(4), running(4)}, 12).status.reason, StartsWith("ranks 0, 1"));
}

TEST(RankVerdict, WhoGaveUpWaitingIsNotBlamed) {
  const auto verdict = verdict_of(
      {failed(Outcome::error, "Timed out after 61 seconds waiting for clients"), running()}, 12);
  EXPECT_EQ(verdict.status.outcome, Outcome::timeout);
  EXPECT_EQ(verdict.rank, 1u);
  EXPECT_THAT(verdict.status.reason, StartsWith("rank 1 did not finish"));
  EXPECT_THAT(verdict.status.reason, HasSubstr("rank 0 gave up: Timed out after 61 seconds"));
}

TEST(RankVerdict, ASingleWorkerSaysWhatItDid) {
  RankEnd hangs = running({}, "verifying");
  hangs.last_lines = "here we go";
  EXPECT_EQ(verdict_of({hangs}, 4).status.reason,
            "the case did not finish within 4.0 s (at 'verifying'); it printed: here we go");
}

// A rank that has begun these collectives and failed or, where it says nothing, goes on.
RankEnd called(const std::vector<std::string>& collectives, const std::string& says = "") {
  wire::CollectiveNotes notes;
  for (const std::string& words : collectives) notes.add(words);
  RankEnd end = says.empty() ? running() : failed(Outcome::error, says);
  end.collective_notes = notes.last();
  return end;
}

TEST(RankVerdict, WhoCalledAnotherCollectiveThanMostIsNamedWhoeverNoticedIt) {
  const auto right = [](const std::string& says) { return called({"a", "b", "c"}, says); };
  const auto verdict = verdict_of(
      {right("sizes differ"), right("Connection closed by peer"), called({"a", "x"}), right("")},
      12);
  EXPECT_EQ(verdict.rank, 2u);
  EXPECT_EQ(verdict.status.outcome, Outcome::error);
  EXPECT_EQ(verdict.status.reason,
            "rank 2 called x as its collective 2, the others b; rank 0 said: sizes differ");
}

TEST(RankVerdict, OfTwoRanksWhoCalledAnotherOneThanBeforeIsNamed) {
  for (const std::size_t culprit : {0, 1}) {
    std::vector<RankEnd> ranks = {called({"a", "b", "a", "b"}, "sizes differ"),
                                  called({"a", "b", "a", "b"})};
    ranks[culprit].collective_notes = called({"a", "b", "a", "x"}).collective_notes;
    const auto verdict = verdict_of(ranks, 12);
    EXPECT_EQ(verdict.rank, culprit);
    EXPECT_THAT(verdict.status.reason, StartsWith("rank " + std::to_string(culprit) +
                                                  " called x as its collective 4, rank "));
  }
}

TEST(RankVerdict, WhoGlooEndsForReceivingTooMuchIsNotBlamed) {
  auto ended = called({"a", "b", "a", "b"}, "what(): gloo::EnforceNotMet: 16384 vs 8192");
  ended.status.outcome = Outcome::crashed;
  const auto verdict = verdict_of({called({"a", "b", "a", "x"}), ended}, 12);
  EXPECT_EQ(verdict.rank, 0u);
  EXPECT_EQ(verdict.status.outcome, Outcome::crashed);
  EXPECT_THAT(verdict.status.reason, StartsWith("rank 0 called x as its collective 4, rank "));
}

TEST(RankVerdict, OfTwoRanksThatDifferAtOnceBothAreTold) {
  const auto verdict = verdict_of({called({"a"}, "sizes differ"), called({"b"})}, 12);
  EXPECT_THAT(verdict.status.reason,
              StartsWith("the ranks differ in their collective 1: rank 0 called a, rank 1 b"));
}

TEST(RankVerdict, RanksThatCalledTheSameAreJudgedAsBefore) {
  const auto verdict = verdict_of({called({"a", "b"}), called({"a"}, "thrown")}, 12);
  EXPECT_EQ(verdict.status.reason, "rank 1: thrown");
  std::vector<std::string> many(100, "a");
  EXPECT_EQ(verdict_of({called(many), called(many, "thrown")}, 12).status.reason, "rank 1: thrown");
}

TEST(RankVerdict, ACrashSaysMoreThanCollectivesThatDiffer) {
  RankEnd dead = called({"x"}, "");
  dead.done = true;
  dead.status = {Outcome::crashed, "rank 1 ended with signal 9"};
  EXPECT_EQ(verdict_of({called({"a"}), dead}, 12).status.reason, "rank 1 ended with signal 9");
}

}  // namespace
}  // namespace assay::run
