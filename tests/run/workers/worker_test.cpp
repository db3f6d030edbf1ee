#include "run/workers/worker.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "run/node/local_rank.h"
#include "run/workers/case_marks.h"

namespace assay::run {
namespace {

TEST(WorkerTest, TheLastLinesOfACaseAreItsOwn) {
  auto worker =
      Worker::start({.arguments = {"sh", "-c", "echo 1; echo 2; echo 3; echo 4 >&2; exit 3"}});
  ASSERT_TRUE(worker);
  const Status death = worker->death("the worker", OutOfMemoryKills());
  EXPECT_EQ(death.outcome, Outcome::crashed);
  EXPECT_EQ(death.reason, "the worker ended with exit code 3: 2 | 3 | 4");
  EXPECT_EQ(worker->output(), "1\n2\n3\n4\n");
  worker->begin_case();
  EXPECT_EQ(worker->output(), "");
}

TEST(WorkerTest, ItsCauseOfDeathIsTold) {
  auto started = LocalRank::start(
      {.arguments = {"sh", "-c", "read never; kill -SEGV $$"}, .standard_input = true});
  ASSERT_TRUE(started);
  auto rank = std::make_unique<LocalRank>(std::move(*started));
  std::string("the stack overflowed").copy(rank->page()->cause, 100);
  rank->input().close();
  Worker worker(std::move(rank));
  EXPECT_EQ(worker.death("rank 1", OutOfMemoryKills()).reason,
            "rank 1 ended with signal 11 (SIGSEGV: Segmentation fault), the stack overflowed");
}

// How the end of a killed worker is reported. before, after: out-of-memory kills counted before its
// case and at its end.
Status end_of_a_killed_worker(const std::string& before, const std::string& after) {
  std::string root = (std::filesystem::temp_directory_path() / "assay-root-XXXXXX").string();
  EXPECT_NE(::mkdtemp(root.data()), nullptr);
  std::filesystem::create_directories(root + "/proc");
  const auto count = [&](const std::string& kills) {
    std::ofstream(root + "/proc/vmstat") << "pgfault 7\noom_kill " << kills << "\nballoon 0\n";
  };
  count("0");
  OutOfMemoryKills kills(root);
  count(before);
  kills.begin();
  auto worker = Worker::start({.arguments = {"sh", "-c", "kill -KILL $$"}});
  count(after);
  const Status status = worker ? worker->death("the worker", kills) : Status{};
  std::filesystem::remove_all(root);
  return status;
}

TEST(WorkerTest, ASystemOutOfMemoryEndsItAsOom) {
  const Status end = end_of_a_killed_worker("4", "5");
  EXPECT_EQ(end.outcome, Outcome::oom);
  EXPECT_TRUE(end.reason.starts_with("host memory ran out: the system ended the worker"))
      << end.reason;
}

TEST(WorkerTest, AnOutOfMemoryKillBeforeItsCaseIsNotItsOwn) {
  const Status end = end_of_a_killed_worker("5", "5");
  EXPECT_EQ(end.outcome, Outcome::crashed);
  EXPECT_TRUE(end.reason.starts_with("the worker ended with signal 9 (SIGKILL")) << end.reason;
}

TEST(CaseMarksTest, WhatARankLeavesBehindIsMarkedOnce) {
  store::CaseFacts facts;
  facts.marks = {{"throttled", "", "hot"}};
  store::CaseFacts of_rank;
  of_rank.timing["forward"].samples = 1;
  EXPECT_FALSE(add_marks(of_rank, facts));
  EXPECT_EQ(facts.marks.size(), 1u);
  of_rank.left_behind = {{"leak", "9 MiB"}};
  EXPECT_TRUE(add_marks(of_rank, facts));
  EXPECT_TRUE(add_marks(of_rank, facts));
  ASSERT_EQ(facts.marks.size(), 2u);
  EXPECT_EQ(facts.marks[1].mark, "leak");
  EXPECT_EQ(facts.marks[1].reason, "9 MiB");
}

TEST(CaseMarksTest, OfSeveralMarksOfTamperingTheFirstReasonIsTaken) {
  store::CaseFacts facts;
  EXPECT_EQ(tampered(facts), "");
  facts.marks = {{store::tampered_mark, "", "an operator leads elsewhere"},
                 {"throttled", "", "hot"},
                 {store::tampered_mark, "", "the clock was written to"}};
  EXPECT_EQ(tampered(facts), "an operator leads elsewhere");
  ASSERT_EQ(facts.marks.size(), 1u);
  EXPECT_EQ(facts.marks[0].mark, "throttled");
}

TEST(CaseMarksTest, OfARankOnlyWhatDiffersIsKept) {
  const nlohmann::json first = {{"a", {{"x", 1}, {"y", 2}}}, {"b", 3}};
  EXPECT_EQ(difference(first, first), nlohmann::json::object());
  EXPECT_EQ(difference({{"a", {{"x", 1}, {"y", 5}}}, {"b", 3}, {"c", 4}}, first),
            nlohmann::json({{"a", {{"y", 5}}}, {"c", 4}}));
}

}  // namespace
}  // namespace assay::run
