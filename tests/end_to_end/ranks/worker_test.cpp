// Which worker measures which case and which case gets its output: the fixtures print their process
// ids.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "support/exported.h"
#include "support/program.h"

namespace assay::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Measured {
  std::string attention;
  std::string outcome;
  std::string reason;
  std::string output;
  std::string process;  // that measured it, as its output says
};

// Each variant with two lengths, one after the other.
std::vector<Measured> measured_cases(const Folder& folder, const std::string& variants,
                                     const std::string& more = "") {
  const std::string file = folder.write(
      "e.yaml", "experiment: workers\nworkload: attention\nmatrix: {attention: [" + variants +
                    "], seq_len: [16, 17]}\n"
                    "fixed: {batch: 1, heads: 1, d_head: 8, causal: true, device: cpu}\n"
                    "measure: {passes: [forward], warmup: 1, samples: 2" +
                    more + "}\n");
  assay(folder.path(), {"run", file, "--plugin", fixture("attention_variants")});
  std::vector<Measured> found;
  nlohmann::json context;  // only in the first line of a case
  for (auto& series : exported(folder.path())) {
    const auto& from = series["provenance"];
    if (from.contains("case")) context = from["case"]["context"];
    if (series["metric"] != "time") continue;
    Measured one{series["case"]["attention"], series["outcome"], series.value("reason", ""),
                 context.value("output", ""), ""};
    std::smatch match;
    if (std::regex_search(one.output, match, std::regex("process ([0-9]+)"))) {
      one.process = match[1];
    }
    found.push_back(std::move(one));
  }
  return found;
}

TEST(Workers, ServeTheNextCaseAfterOkAndAreReplacedAfterAnythingElse) {
  const Folder folder;
  const auto cases =
      measured_cases(folder,
                     "test_prints, test_prints_wrong, test_prints_throws, test_prints_declines, "
                     "test_prints_leaks");
  ASSERT_EQ(cases.size(), 10u);
  const char* outcomes[] = {"ok", "wrong", "error", "unsupported", "ok"};
  for (std::size_t i = 0; i < cases.size(); ++i) {
    EXPECT_EQ(cases[i].outcome, outcomes[i / 2]) << cases[i].attention << " " << cases[i].reason;
    ASSERT_FALSE(cases[i].process.empty()) << cases[i].attention << " " << cases[i].output;
    if (i == 0) continue;
    // An ok case that left nothing behind precedes each of the first three.
    const bool same = cases[i].process == cases[i - 1].process;
    EXPECT_EQ(same, i <= 2) << cases[i].attention << " after " << cases[i - 1].attention;
  }
}

TEST(Workers, WithIsolationEachCaseHasItsOwn) {
  const Folder folder;
  const auto cases = measured_cases(folder, "test_prints", ", isolation: case");
  ASSERT_EQ(cases.size(), 2u);
  EXPECT_FALSE(cases[0].process.empty());
  EXPECT_NE(cases[0].process, cases[1].process);
}

// One text holds the output of a case's workers, pass by pass.
TEST(Workers, WithIsolationOfPassesEachPassHasItsOwn) {
  const Folder folder;
  const std::string file = folder.write(
      "e.yaml",
      "experiment: passes\nworkload: attention\nmatrix: {attention: [test_prints]}\n"
      "fixed: {batch: 1, heads: 1, seq_len: 16, d_head: 8, causal: true, device: cpu}\n"
      "measure: {passes: [forward, backward, forward_backward], warmup: 0, samples: 2, isolation: "
      "pass}\n");
  const Ended ran = assay(folder.path(), {"run", file, "--plugin", fixture("attention_variants")});
  EXPECT_EQ(ran.exit_code, 0) << ran.errors;
  std::vector<std::string> timed;
  nlohmann::json context;
  for (auto& series : exported(folder.path())) {
    const auto& from = series["provenance"];
    if (from.contains("case")) context = from["case"]["context"];
    if (series["metric"] == "time") timed.push_back(series["pass"]);
  }
  EXPECT_THAT(timed, ElementsAre("forward", "backward", "forward_backward"));
  for (const std::string& pass : timed) EXPECT_TRUE(context["timing"].contains(pass)) << pass;
  const std::string output = context["output"];
  std::set<std::string> processes;
  const std::regex told("process ([0-9]+)");
  for (std::sregex_iterator match(output.begin(), output.end(), told), none; match != none;
       ++match) {
    processes.insert((*match)[1]);
  }
  EXPECT_EQ(processes.size(), 3u) << output;
}

TEST(Workers, WhatTheyPrintIsTheCasesAndTheLastLinesStandInReasons) {
  const Folder folder;
  const auto cases = measured_cases(folder, "test_prints, test_prints_wrong, test_prints_throws");
  ASSERT_EQ(cases.size(), 6u);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    EXPECT_EQ(cases[i].output, "process " + cases[i].process + "\n") << "not another case's";
    if (i < 2) continue;
    EXPECT_THAT(cases[i].reason, HasSubstr("; it printed: process " + cases[i].process));
  }
  const Ended page = assay(
      folder.path(), {"show", "latest", "--case", "attention == test_prints && seq_len == 16"});
  EXPECT_THAT(page.output, HasSubstr("process " + cases[0].process));
}

}  // namespace
}  // namespace assay::test
