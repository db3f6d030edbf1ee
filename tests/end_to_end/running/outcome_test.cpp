// Runs with misbehaving plugins: every case gets its outcome and the run goes on.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "support/exported.h"
#include "support/program.h"

namespace assay::test {
namespace {

using ::testing::HasSubstr;

std::string attention_experiment(const std::string& cases, int warmup = 1) {
  return "experiment: outcomes\nworkload: attention\n" + cases +
         "\n"
         "fixed: {batch: 1, heads: 2, seq_len: 17, d_head: 8, causal: true, device: cpu}\n"
         "measure: {passes: [forward], warmup: " +
         std::to_string(warmup) + ", samples: 2, timeout: 2 min}\n";
}

struct Misbehaviour {
  const char* variant;
  const char* outcome;
  const char* reason;
};

class OutcomeTest : public ::testing::TestWithParam<Misbehaviour> {};

TEST_P(OutcomeTest, IsRecordedAndTheNextCaseStillRuns) {
  const Folder folder;
  const auto [variant, outcome, reason] = GetParam();
  const bool hangs = std::string_view(variant) == "test_hangs";
  const std::string file =
      folder.write("e.yaml", attention_experiment("include: [{attention: " + std::string(variant) +
                                                  (hangs ? ", measure.timeout: 4 s" : "") +
                                                  "}, {attention: test_right}]"));
  const Ended ended =
      assay(folder.path(), {"run", file, "--plugin", fixture("attention_variants")});
  const bool counts_as_failure = std::string_view(outcome) != "unsupported";
  EXPECT_EQ(ended.exit_code, counts_as_failure ? 1 : 0) << ended.errors;

  const auto lines = exported(folder.path());
  const auto bad = time_of(lines, variant);
  ASSERT_FALSE(bad.is_null());
  EXPECT_EQ(bad["outcome"], outcome);
  EXPECT_THAT(bad["reason"].get<std::string>(), HasSubstr(reason));
  EXPECT_TRUE(bad["samples"].empty()) << "a failed pass must not have a time";
  const auto good = time_of(lines, "test_right");
  ASSERT_FALSE(good.is_null());
  EXPECT_EQ(good["outcome"], "ok");
  EXPECT_EQ(good["samples"].size(), 2u);
  EXPECT_THAT(folder.read("results/outcomes-1/report.md"), HasSubstr(reason));
}

INSTANTIATE_TEST_SUITE_P(
    Variants, OutcomeTest,
    ::testing::Values(Misbehaviour{"test_throws", "error", "thrown on purpose"},
                      Misbehaviour{"test_declines", "unsupported", "declined on purpose"},
                      Misbehaviour{"test_wrong", "wrong", "differs from the reference"},
                      Misbehaviour{"test_unwritten", "wrong", "differs from the reference"},
                      Misbehaviour{"test_segfaults", "crashed", "signal 11"},
                      Misbehaviour{"test_hangs", "timeout", "did not finish within 4.0 s"},
                      Misbehaviour{"test_fails_to_start", "error", "cannot be made"},
                      Misbehaviour{"test_runs_out_of_memory", "oom", "memory"}),
    [](const auto& tested) { return std::string(tested.param.variant); });

// Without warm-up the timed call is verified last; after a rank has failed the others stop before
// that.
TEST(OutcomeTest, WhatRanksHaveNotVerifiedHasNoTime) {
  const Folder folder;
  const std::string file = folder.write(
      "e.yaml",
      "experiment: outcomes\nworkload: hostile_ranks\n"
      "fixed: {world_size: 2, device: cpu, fault: throw, moment: second, culprit: -1}\n"
      "measure: {passes: [inference, second], warmup: 0, samples: 1, timeout: 2 min}\n");
  const Ended ended = assay(folder.path(), {"run", file, "--plugin", fixture("hostile_ranks")});
  EXPECT_EQ(ended.exit_code, 1) << ended.errors;
  std::map<std::string, std::string> outcomes;
  for (const auto& line : exported(folder.path())) {
    if (line["metric"] != "time") continue;
    EXPECT_TRUE(line["samples"].empty()) << line;
    outcomes[line["pass"]] = line["outcome"];
  }
  EXPECT_EQ(outcomes,
            (std::map<std::string, std::string>{{"inference", "error"}, {"second", "error"}}));
}

class CollectivesTest : public ::testing::TestWithParam<std::pair<int, int>> {};

// Who notices first that the ranks do not agree is chance.
TEST_P(CollectivesTest, TheRankThatCallsAnotherOneIsNamed) {
  const Folder folder;
  const auto [culprit, ranks] = GetParam();
  const std::string file = folder.write(
      "e.yaml",
      "experiment: outcomes\nworkload: model_step\n"
      "fixed: {model: toy, batch: 4, seq_len: 8, device: cpu, world_size: " +
          std::to_string(ranks) +
          ", communication: {hostile_step: {phase: less, culprit: " + std::to_string(culprit) +
          "}}}\n"
          "measure: {passes: [train_step], warmup: 1, samples: 2, timeout: 1 min}\n");
  assay(folder.path(), {"run", file, "--plugin", fixture("hostile_step")});
  std::vector<std::string> reasons;
  for (const auto& line : exported(folder.path())) {
    if (line["metric"] != "time") continue;
    EXPECT_NE(line["outcome"], "ok");
    reasons.push_back(line["reason"]);
  }
  ASSERT_FALSE(reasons.empty());
  EXPECT_THAT(reasons[0],
              ::testing::StartsWith("rank " + std::to_string(culprit) + " called all_reduce of "));
}

INSTANTIATE_TEST_SUITE_P(Culprits, CollectivesTest,
                         ::testing::Values(std::pair(0, 3), std::pair(2, 4)));

TEST(OutcomeTest, WithoutWarmupTimingComesBeforeVerificationAndWhatFailsItHasNoTime) {
  const Folder folder;
  const std::string file = folder.write(
      "e.yaml", attention_experiment("matrix: {attention: [test_wrong_later, test_right]}", 0));
  const Ended ended =
      assay(folder.path(), {"run", file, "--plugin", fixture("attention_variants")});
  EXPECT_EQ(ended.exit_code, 1) << ended.errors;
  const auto lines = exported(folder.path());
  const auto wrong = time_of(lines, "test_wrong_later");
  EXPECT_EQ(wrong["outcome"], "wrong") << wrong;
  EXPECT_TRUE(wrong["samples"].empty()) << wrong;
  EXPECT_EQ(time_of(lines, "test_right")["samples"].size(), 2u);
}

TEST(OutcomeTest, LastWordsOfAWorkerStandInTheReason) {
  const Folder folder;
  const std::string file =
      folder.write("e.yaml", attention_experiment("matrix: {attention: [test_segfaults]}"));
  assay(folder.path(), {"run", file, "--plugin", fixture("attention_variants")});
  const auto line = time_of(exported(folder.path()), "test_segfaults");
  EXPECT_THAT(line["reason"].get<std::string>(), HasSubstr("last words"));
}

}  // namespace
}  // namespace assay::test
