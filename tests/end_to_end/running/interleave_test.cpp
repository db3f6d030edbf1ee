// Cases measured in turns: same results as apart, one case working at a time, and a failure affects
// only its case.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "store/database/connection.h"
#include "support/exported.h"
#include "support/program.h"

namespace assay::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string lengths_in_turns(const std::string& variants, const std::string& measure) {
  return "experiment: turns\nworkload: attention\n"
         "matrix: {seq_len: [16, 32], attention: [" +
         variants +
         "]}\n"
         "fixed: {batch: 1, heads: 2, d_head: 8, device: cpu}\n"
         "measure: {passes: [forward, backward], warmup: 1, samples: 8" +
         measure + "}\n";
}

// The series of a run without their samples.
std::multiset<std::string> figures(const std::vector<nlohmann::json>& lines) {
  std::multiset<std::string> found;
  for (nlohmann::json line : lines) {
    line["case"].erase("measure.interleave");
    found.insert(nlohmann::json{line["case"], line["pass"], line["metric"], line["part"],
                                line["rank"], line["outcome"], line["samples"].size()}
                     .dump());
  }
  return found;
}

// "interleaved" of each case's context, by the value of an axis and the length.
std::map<std::string, nlohmann::json> records(const std::vector<nlohmann::json>& lines,
                                              const char* axis = "attention") {
  std::map<std::string, nlohmann::json> found;
  for (const nlohmann::json& line : lines) {
    if (!line["provenance"].contains("case")) continue;
    const std::string name =
        line["case"][axis].get<std::string>() + " " + line["case"]["seq_len"].dump();
    found[name] = line["provenance"]["case"]["context"].value("interleaved", nlohmann::json());
  }
  return found;
}

Ended run(const Folder& folder, const std::string& experiment,
          const std::vector<std::string>& more = {}) {
  std::vector<std::string> words = {"run", folder.write("e.yaml", experiment), "--plugin",
                                    fixture("attention_variants")};
  words.insert(words.end(), more.begin(), more.end());
  return assay(folder.path(), words);
}

TEST(InterleaveTest, GivesWhatMeasuringApartGivesAndSaysWhoseTurnItWas) {
  const Folder folder;
  const std::string experiment = lengths_in_turns("naive, math_libtorch, test_right", "");
  const Ended apart = run(folder, experiment);
  ASSERT_EQ(apart.exit_code, 0) << apart.errors;
  const auto figures_apart = figures(exported(folder.path()));
  EXPECT_TRUE(records(exported(folder.path())).at("naive 16").is_null());
  const Ended in_turns = run(folder, experiment, {"--set", "measure.interleave=attention"});
  ASSERT_EQ(in_turns.exit_code, 0) << in_turns.errors;
  const auto lines = exported(folder.path());
  EXPECT_EQ(figures(lines), figures_apart);

  const auto found = records(lines);
  ASSERT_EQ(found.size(), 6u);
  EXPECT_EQ(found.at("math_libtorch 32")["as"], "B");
  EXPECT_EQ(found.at("math_libtorch 32")["with"],
            (nlohmann::json{{"A", "attention=naive"}, {"C", "attention=test_right"}}));
  for (const char* length : {"16", "32"}) {
    for (const char* pass : {"forward", "backward"}) {
      // Each case records the turns until its end; the last one has all.
      std::string turns;
      for (const char* attention : {"naive ", "math_libtorch ", "test_right "}) {
        const auto& record = found.at(std::string(attention) + length)["passes"][pass];
        EXPECT_EQ(record["block"], 1);
        const std::string seen = record["turns"];
        if (seen.size() > turns.size()) turns = seen;
      }
      ASSERT_GE(turns.size(), 24u) << "each has 8 samples, one a turn";
      for (std::size_t round = 0; round + 6 <= turns.size(); round += 6) {
        std::string forth = turns.substr(round, 3);
        std::string back = turns.substr(round + 3, 3);
        std::reverse(back.begin(), back.end());
        EXPECT_EQ(forth, back) << turns;
        std::sort(forth.begin(), forth.end());
        EXPECT_EQ(forth, "ABC") << turns;
      }
    }
  }
  EXPECT_THAT(folder.read("results/turns-2/report.md"),
              HasSubstr("**interleaved**: 6 cases in blocks of 1 sample\n"));
}

TEST(InterleaveTest, OnlyOneIsMeasuredAtATime) {
  const Folder folder;
  const Ended ended =
      run(folder, lengths_in_turns("test_alone, test_alone_too", ", interleave: attention"));
  EXPECT_EQ(ended.exit_code, 0) << ended.errors;
}

struct Failing {
  const char* variant;
  const char* outcome;
};

class InterleavedFailure : public ::testing::TestWithParam<Failing> {};

TEST_P(InterleavedFailure, LeavesTheOthersTheirTurns) {
  const Folder folder;
  const auto [variant, outcome] = GetParam();
  // A first worker's libraries may take seconds to load.
  const std::string limit = std::string(outcome) == "timeout" ? "6 s" : "60 s";
  const Ended ended = run(folder,
                          lengths_in_turns("naive, " + std::string(variant) + ", test_right",
                                           ", interleave: attention, timeout: " + limit),
                          {"--set", "seq_len=16"});
  EXPECT_EQ(ended.exit_code, 1) << ended.errors;
  const auto lines = exported(folder.path());
  EXPECT_EQ(time_of(lines, variant)["outcome"], outcome) << time_of(lines, variant);
  for (const char* other : {"naive", "test_right"}) {
    for (const auto& line : lines) {
      if (line["case"]["attention"] != other || line["metric"] != "time") continue;
      EXPECT_EQ(line["outcome"], "ok") << line;
      EXPECT_EQ(line["samples"].size(), 8u);
    }
    EXPECT_FALSE(records(lines).at(std::string(other) + " 16")["passes"].empty());
  }
}

INSTANTIATE_TEST_SUITE_P(Variants, InterleavedFailure,
                         ::testing::Values(Failing{"test_segfaults", "crashed"},
                                           Failing{"test_segfaults_later", "crashed"},
                                           Failing{"test_hangs_later", "timeout"},
                                           Failing{"test_wrong", "wrong"}),
                         [](const auto& tested) { return std::string(tested.param.variant); });

// A program that takes 8 samples of 10 ms, one a turn; `gives_up` precedes each.
Ended run_beside_a_program(const Folder& folder, const std::string& gives_up) {
  folder.write("program.yaml",
               "kind: attention\nname: program\ndescription: Takes turns.\n"
               "command: [sh, program.sh]\nworkloads: [attention]\nturns: true\n");
  folder.write(
      "program.sh",
      "read -r case; n=0; samples=\n"
      "while [ $n -lt 8 ]; do\n" +
          gives_up +
          "\n  echo \"{\\\"turn\\\": {\\\"pass\\\": \\\"forward\\\", \\\"taken\\\": $n, "
          "\\\"planned\\\": 8}}\"\n"
          "  read -r turn; n=$((n + 1)); samples=\"$samples${samples:+, }0.01\"\ndone\n"
          "echo '{\"series\": {\"pass\": \"forward\", \"metric\": \"time\", \"unit\": \"s\", "
          "\"clock\": \"wall\", \"samples\": ['\"$samples\"']}}'\n");
  return run(folder, lengths_in_turns("naive, program, test_right", ", interleave: attention"),
             {"--set", "seq_len=16", "--set", "measure.passes=[forward]", "--plugin",
              "program.yaml", "--allow-external"});
}

TEST(InterleaveTest, AProgramOfItsOwnTakesItsTurnsToo) {
  const Folder folder;
  const Ended ended = run_beside_a_program(folder, "");
  ASSERT_EQ(ended.exit_code, 0) << ended.errors;
  const auto lines = exported(folder.path());
  EXPECT_EQ(time_of(lines, "program")["samples"].size(), 8u);
  const auto record = records(lines).at("program 16");
  EXPECT_EQ(record["as"], "B");
  const std::string turns = record["passes"]["forward"]["turns"];
  EXPECT_EQ(std::count(turns.begin(), turns.end(), 'B'), 8) << turns;
  EXPECT_EQ(time_of(lines, "naive")["samples"].size(), 8u);
  EXPECT_THAT(folder.read("results/turns-1/report.md"),
              HasSubstr("**interleaved**: 3 cases in blocks of 1 sample\n"));
}

TEST(InterleaveTest, AProgramThatDiesInItsTurnLeavesTheOthersTheirs) {
  const Folder folder;
  const Ended ended = run_beside_a_program(folder, "[ $n -lt 3 ] || exit 7");
  EXPECT_EQ(ended.exit_code, 1) << ended.errors;
  const auto lines = exported(folder.path());
  EXPECT_EQ(time_of(lines, "program")["outcome"], "crashed");
  for (const char* other : {"naive", "test_right"}) {
    EXPECT_EQ(time_of(lines, other)["samples"].size(), 8u) << other;
  }
}

TEST(InterleaveTest, OneThatRunsOutOfMemoryBesideOthersIsMeasuredAgainAlone) {
  const Folder folder;
  const Ended ended =
      run(folder, lengths_in_turns("naive, test_runs_out_of_memory", ", interleave: attention"),
          {"--set", "seq_len=16"});
  EXPECT_EQ(ended.exit_code, 1) << ended.errors;
  const auto lines = exported(folder.path());
  EXPECT_EQ(time_of(lines, "test_runs_out_of_memory")["outcome"], "oom");
  EXPECT_THAT(records(lines).at("test_runs_out_of_memory 16")["apart"].get<std::string>(),
              HasSubstr("ran out of memory beside the others"));
  EXPECT_EQ(time_of(lines, "naive")["outcome"], "ok");
}

// A program that has no memory to look at its calls while it takes turns; `alone` is what it does
// where it does not.
Ended run_beside_one_that_lacks_memory(const Folder& folder, const std::string& alone) {
  folder.write("full.sh", R"(echo '{"looks": {"pass": "forward", "integrity": "fast", )"
                          R"("renewed_inputs": 1, "looks": 0, "left_out": "out of memory"}}')");
  folder.write("looked.sh", R"(echo '{"looks": {"pass": "forward", "integrity": "fast", )"
                            R"("renewed_inputs": 1, "looks": 3, "error": 0, "tolerance": 1}}')"
                            "\n"
                            R"(echo '{"series": {"pass": "forward", "metric": "time", )"
                            R"("unit": "s", "clock": "wall", "samples": )"
                            R"([0.02, 0.02, 0.02, 0.02, 0.02, 0.02, 0.02, 0.02]}}')");
  return run_beside_a_program(folder, "case $case in *turns*) [ $n -gt 0 ] || . ./full.sh ;; *) " +
                                          alone + "; exit ;; esac");
}

TEST(InterleaveTest, OneThatLacksMemoryToBeLookedAtIsMeasuredAgainAlone) {
  const Folder folder;
  const Ended ended = run_beside_one_that_lacks_memory(folder, ". ./looked.sh");
  ASSERT_EQ(ended.exit_code, 0) << ended.errors;
  const auto lines = exported(folder.path());
  EXPECT_THAT(records(lines).at("program 16")["apart"].get<std::string>(),
              HasSubstr("memory was lacking to look at its timed calls"));
  const auto time = time_of(lines, "program");
  EXPECT_EQ(time["samples"][0], 0.02) << "of the second time";
  EXPECT_THAT(time["flags"].dump(), Not(HasSubstr("self-timed")));
}

TEST(InterleaveTest, WhatWasNotLookedAtStandsWhereTheSecondTimeFails) {
  const Folder folder;
  const Ended ended = run_beside_one_that_lacks_memory(folder, "exit 7");
  ASSERT_EQ(ended.exit_code, 0) << ended.errors;
  const auto lines = exported(folder.path());
  EXPECT_EQ(records(lines).at("program 16")["as"], "B");
  const auto time = time_of(lines, "program");
  EXPECT_EQ(time["samples"].size(), 8u);
  EXPECT_THAT(time["flags"].dump(), HasSubstr("self-timed"));
}

TEST(InterleaveTest, TwoGlooRanksTakeTheirTurnsTogetherWithoutAWarmUpToo) {
  const Folder folder;
  for (const char* warmup : {"1", "0"}) {
    const std::string file =
        folder.write("ranks.yaml",
                     "experiment: ranks\nworkload: model_step\n"
                     "matrix: {precision: [fp32, bf16]}\n"
                     "fixed: {model: toy, architecture: gelu, batch: 2, seq_len: 16, device: cpu, "
                     "communication: naive, world_size: 2}\n"
                     "measure: {passes: [forward, train_step], samples: 4, interleave: precision, "
                     "warmup: " +
                         std::string(warmup) + "}\n");
    const Ended ended = assay(folder.path(), {"run", file});
    ASSERT_EQ(ended.exit_code, 0) << ended.errors;
    std::size_t timed = 0;
    const auto lines = exported(folder.path());
    for (const auto& line : lines) {
      if (line["metric"] != "time") continue;
      ++timed;
      EXPECT_EQ(line["samples"].size(), 4u) << line;
    }
    EXPECT_EQ(timed, 8u) << "two cases, two passes, two ranks";
    EXPECT_EQ(records(lines, "precision").at("bf16 16")["as"], "B");
  }
}

TEST(InterleaveTest, WithATargetTheBlocksFollowFromTheFewestSamples) {
  const Folder folder;
  const Ended ended = run(folder,
                          lengths_in_turns("naive, math_libtorch",
                                           ", interleave: attention, target: 0.1 %, "
                                           "min_samples: 20, max_samples: 20, max_time: 5 min"),
                          {"--set", "seq_len=16"});
  ASSERT_EQ(ended.exit_code, 0) << ended.errors;
  const auto lines = exported(folder.path());
  for (const auto& line : lines) {
    if (line["metric"] != "time") continue;
    EXPECT_EQ(line["samples"].size(), 20u) << line;
  }
  EXPECT_EQ(records(lines).at("naive 16")["passes"]["forward"]["block"], 2);
}

TEST(InterleaveTest, ResumingInterleavesWhatIsLeft) {
  const Folder folder;
  const std::string experiment =
      lengths_in_turns("naive, math_libtorch, test_right", ", interleave: attention");
  ASSERT_EQ(run(folder, experiment, {"--set", "seq_len=16"}).exit_code, 0);
  {
    SQLite::Database database((folder.path() / "results/assay.db").string(),
                              SQLite::OPEN_READWRITE);
    database.exec("PRAGMA foreign_keys = ON");
    database.exec("DELETE FROM cases WHERE key_text NOT LIKE '%attention=math_libtorch,%'");
    database.exec("UPDATE runs SET finished = ''");
  }
  const Ended ended = run(folder, experiment, {"--set", "seq_len=16", "--resume"});
  ASSERT_EQ(ended.exit_code, 0) << ended.errors;
  const auto found = records(exported(folder.path()));
  EXPECT_EQ(found.at("math_libtorch 16")["with"].size(), 2u);
  EXPECT_EQ(found.at("naive 16")["with"], (nlohmann::json{{"B", "attention=test_right"}}));
  EXPECT_EQ(found.at("test_right 16")["with"], (nlohmann::json{{"A", "attention=naive"}}));
}

TEST(InterleaveTest, ThePlanSaysWhatTakesTurnsAndWhatDoesNotAndWhy) {
  const Folder folder;
  const std::string file = folder.write("e.yaml",
                                        "experiment: e\nworkload: attention\n"
                                        "matrix: {seq_len: [128, 1048576], "
                                        "attention: [naive, math_libtorch, flash_libtorch]}\n"
                                        "fixed: {batch: 1, heads: 32, d_head: 64, device: cpu}\n"
                                        "measure: {interleave: attention}\n");
  const Ended ended = assay(folder.path(), {"plan", file});
  ASSERT_EQ(ended.exit_code, 0) << ended.errors;
  EXPECT_THAT(ended.output, HasSubstr("seq_len=128 attention=flash_libtorch  [in turns, 1 of 3]"));
  EXPECT_THAT(ended.output,
              ::testing::ContainsRegex("seq_len=1048576 attention=naive.*apart: 3 of them would "
                                       "need .* of the host by estimate"));
  EXPECT_THAT(ended.output, HasSubstr("2 groups over attention: "));
}

}  // namespace
}  // namespace assay::test
