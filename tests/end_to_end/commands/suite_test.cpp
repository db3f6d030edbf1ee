// Suites: several experiments measured as one run and reported as one document.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "support/exported.h"
#include "support/program.h"

namespace assay::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

std::string lengths(const std::string& name, const std::string& list, const std::string& passes) {
  return "experiment: " + name + "\ntitle: What of the " + name +
         " ones?\nworkload: attention\nmatrix: {seq_len: [" + list +
         "]}\nfixed: {attention: naive, batch: 1, heads: 1, d_head: 8, causal: true, device: cpu}\n"
         "measure: {passes: [" +
         passes +
         "], warmup: 1, samples: 3}\n"
         "report:\n  - heading: Times\n"
         "  - table: {rows: [seq_len], columns: {ms: {metric: time, " +
         (passes == "forward" ? "" : "pass: backward, ") + "unit: ms}}}\n  - heading: Findings\n" +
         "  - findings: [failures]\n";
}

// 16 is a case of both, of which the second also asks for the backward pass.
std::string write_pair(const Folder& folder) {
  folder.write("short.yaml", lengths("short", "8, 16", "forward"));
  folder.write("long.yaml", lengths("long", "16, 24", "forward, backward"));
  return folder.write("pair.yaml",
                      "suite: pair\ntitle: Short and long\ntext: Two kinds.\nchapters:\n"
                      "  - experiment: short.yaml\n    text: The short ones first.\n"
                      "  - text: Between them.\n"
                      "  - experiment: long.yaml\n"
                      "  - experiment:\n      experiment: fast\n      title: And on a GPU?\n"
                      "      workload: attention\n      matrix: {seq_len: [8]}\n"
                      "      fixed: {device: cuda}\n");
}

// The passes of each length that a run has measured.
std::map<int, std::set<std::string>> measured(const std::filesystem::path& folder,
                                              const std::string& run) {
  std::map<int, std::set<std::string>> passes;
  for (const auto& line : exported(folder, run)) {
    if (line["metric"] == "time") passes[line["case"]["seq_len"]].insert(line["pass"]);
  }
  return passes;
}

// What GitHub makes of an ASCII heading: written anew for this test.
std::string anchor_of(const std::string& heading) {
  std::string anchor;
  for (const char c : heading) {
    if (c == ' ') {
      anchor += '-';
    } else if (std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_') {
      anchor += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  return anchor;
}

// Every link names a heading of the page or a file beside it. Returns the number of links.
std::size_t check_links(const std::filesystem::path& file, const std::string& page) {
  std::map<std::string, int> anchors;
  std::istringstream lines(page);
  bool code = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("```")) code = !code;
    const std::size_t level = line.find_first_not_of('#');
    if (code || level == 0 || level == std::string::npos || line[level] != ' ') continue;
    const std::string name = anchor_of(line.substr(level + 1));
    const int before = anchors[name]++;
    if (before > 0) anchors[name + "-" + std::to_string(before)] = 1;
  }
  std::size_t count = 0;
  const std::regex link(R"(\]\(([^)]+)\))");
  for (std::sregex_iterator at(page.begin(), page.end(), link), end; at != end; ++at) {
    const std::string target = (*at)[1];
    ++count;
    if (target.starts_with("#")) {
      EXPECT_TRUE(anchors.contains(target.substr(1))) << target;
    } else if (!target.starts_with("http")) {
      EXPECT_TRUE(std::filesystem::exists(file.parent_path() / target)) << target;
    }
  }
  return count;
}

TEST(SuiteTest, MeasuresASharedCaseOnceAndWritesOneDocument) {
  const Folder folder;
  const std::string file = write_pair(folder);
  const Ended first = assay(folder.path(), {"run", file, "--only", "short"});
  ASSERT_EQ(first.exit_code, 0) << first.errors;
  EXPECT_THAT(first.errors, HasSubstr("suite pair: 1 of 3 chapters, 2 cases, 1 of them shared"));
  EXPECT_THAT(first.errors, HasSubstr("left out: fast: "));
  const std::string partly = folder.read("results/pair-1/report.md");
  EXPECT_THAT(partly, HasSubstr("## 2. What of the long ones?\n\n1 of its 2 cases have a result."))
      << "the shared one";

  const Ended planned = assay(folder.path(), {"plan", file});
  EXPECT_THAT(planned.output, HasSubstr("[shared with long]"));
  EXPECT_THAT(planned.output, HasSubstr("suite pair: 2 of 3 chapters, 3 cases, 1 of them shared by "
                                        "several chapters\nestimated time: "));
  EXPECT_THAT(planned.output,
              HasSubstr("for 2 cases that earlier runs measured; 1 case is unknown"));

  const Ended whole = assay(folder.path(), {"run", file, "--resume"});
  ASSERT_EQ(whole.exit_code, 0) << whole.errors;
  EXPECT_THAT(whole.errors, HasSubstr("run pair-1: 3 cases, 2 already done"));
  using Passes = std::set<std::string>;
  EXPECT_THAT(measured(folder.path(), "pair-1"),
              ElementsAre(Pair(8, Passes{"forward"}), Pair(16, Passes{"backward", "forward"}),
                          Pair(24, Passes{"backward", "forward"})));

  const auto report = folder.path() / "results/pair-1/report.md";
  const std::string page = folder.read("results/pair-1/report.md");
  // Marks depend on the machine.
  const std::string without_marks =
      std::regex_replace(page, std::regex("  - \\[Data quality\\]\\(#[a-z0-9-]+\\)\n"), "");
  EXPECT_THAT(without_marks,
              ::testing::StartsWith(
                  "# Short and long\n\nTwo kinds.\n\n## Contents\n\n"
                  "- [1. What of the short ones?](#1-what-of-the-short-ones)\n"
                  "  - [Findings](#findings)\n  - [Times](#times)\n"
                  "- [2. What of the long ones?](#2-what-of-the-long-ones)\n"
                  "  - [Findings](#findings-1)\n  - [Times](#times-1)\n"
                  "- [Appendix: environment and marks](#appendix-environment-and-marks)\n"));
  EXPECT_GE(check_links(report, page), 10u);
  EXPECT_THAT(page, HasSubstr("The short ones first."));
  EXPECT_THAT(page, HasSubstr("\nBetween them.\n"));
  EXPECT_THAT(page, HasSubstr("- **fast**: And on a GPU? ("));
  EXPECT_THAT(page, Not(HasSubstr("Not made")));

  // Elsewhere, without the files.
  ASSERT_EQ(assay(folder.path(), {"export", "pair-1", "--output", "pair.jsonl"}).exit_code, 0);
  const Folder elsewhere;
  const std::string exported_file = (folder.path() / "pair.jsonl").string();
  ASSERT_EQ(assay(elsewhere.path(), {"import", exported_file}).exit_code, 0);
  const Ended again = assay(elsewhere.path(), {"report", "pair-1"});
  ASSERT_EQ(again.exit_code, 0) << again.errors;
  EXPECT_EQ(elsewhere.read("results/pair-1/report.md"), page);
  const Ended one = assay(elsewhere.path(), {"report", "pair-1", "--only", "long"});
  ASSERT_EQ(one.exit_code, 0) << one.errors;
  EXPECT_THAT(elsewhere.read("results/pair-1/report-only-long.md"),
              HasSubstr("## 1. What of the long ones?"));

  // The run's chapters, and a case of one of them again as a run of its own.
  EXPECT_THAT(assay(folder.path(), {"show", "pair-1"}).output,
              HasSubstr("chapters:\n    short: 2 ok\n    long: 2 ok\n    fast: left out: "));
  EXPECT_THAT(assay(folder.path(), {"show", "pair-1/2"}).output,
              HasSubstr("chapters: short, long\n"));
  const Ended repeated =
      assay(folder.path(), {"run", "--experiment-of", "pair-1", "--case", "seq_len == 24"});
  ASSERT_EQ(repeated.exit_code, 0) << repeated.errors;
  EXPECT_THAT(repeated.errors, HasSubstr("run long-1: 1 case"));

  // The suite again from what the run has stored, although its files are gone.
  std::filesystem::remove(folder.path() / "long.yaml");
  const Ended stored = assay(folder.path(), {"run", "--resume", "pair-1", "--rerun", "--only",
                                             "long", "--filter", "seq_len == 24"});
  ASSERT_EQ(stored.exit_code, 0) << stored.errors;
  EXPECT_THAT(stored.errors, HasSubstr("run pair-1: 1 case"));
}

// Two of its chapters, the second by resuming: all of them take minutes.
TEST(SuiteTest, TheWriteupIsMeasuredChapterByChapterOnACpu) {
  const Folder folder;
  const std::string file = ASSAY_SOURCE_DIR "/experiments/writeup.yaml";
  const std::vector<std::string> quickly = {"--set", "measure.samples=2", "--set",
                                            "measure.warmup=1"};
  const auto run = [&](std::vector<std::string> words) {
    words.insert(words.end(), quickly.begin(), quickly.end());
    return assay(folder.path(), words);
  };
  const Ended first = run({"run", file, "--only", "quickstart", "--set", "device=cpu"});
  ASSERT_EQ(first.exit_code, 0) << first.errors;
  const Ended second =
      run({"run", file, "--resume", "--only", "mixed_precision", "--set", "device=cpu"});
  ASSERT_EQ(second.exit_code, 0) << second.errors;

  const auto report = folder.path() / "results/writeup-1/report.md";
  const std::string page = folder.read("results/writeup-1/report.md");
  EXPECT_THAT(page,
              ::testing::StartsWith("# What a language model's training step costs, and why"));
  EXPECT_GE(check_links(report, page), 10u);
  EXPECT_THAT(page, HasSubstr("\n## Contents\n"));
  EXPECT_THAT(page, HasSubstr("- **norm_layer**: "));
  EXPECT_THAT(page, Not(HasSubstr("Not made")));
  EXPECT_THAT(page, HasSubstr("\n## Appendix: environment and marks\n"));
}

}  // namespace
}  // namespace assay::test
