#include "report/page/suite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/document/markdown.h"

namespace assay::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

store::CaseResult measured(const std::string& key, std::vector<store::Mark> marks = {}) {
  store::CaseResult result;
  result.key = key;
  store::Series series;
  series.pass = "forward";
  series.metric = "time";
  series.unit = "s";
  series.clock = "wall";
  series.samples = {1};
  result.series = {series};
  result.facts.marks = std::move(marks);
  result.wall_s = 2;
  return result;
}

SuiteChapter chapter(const std::string& name, std::vector<store::CaseResult> cases) {
  SuiteChapter chapter;
  chapter.name = name;
  chapter.question = "What of " + name + "?";
  chapter.cases = chapter.measured = cases.size();
  chapter.content.sections = {Heading{2, "Findings"}, Picture{"plot_1.svg", "a plot"}};
  store::Run run;
  run.info.name = "all-1";
  run.info.first.experiment_text = "experiment: " + name + "\n";
  run.info.first.experiment_file = "/folder/" + name + ".yaml";
  run.cases = std::move(cases);
  chapter.runs = {run};
  return chapter;
}

std::string markdown(std::vector<SuiteChapter> chapters) {
  store::Run run;
  run.info.name = "all-1";
  run.info.first.machine = {{"host", "lab1"}};
  run.info.first.experiment_text = "suite: all\n";
  const auto document =
      suite_document({"Everything", "It begins here.", {&run}, std::move(chapters)});
  EXPECT_TRUE(document) << document.error().text();
  return document ? *to_markdown(*document) : "";
}

TEST(SuiteDocument, HasContentsChaptersAndOneAppendix) {
  SuiteChapter between;
  between.text = "Between the two.";
  SuiteChapter second = chapter("b", {measured("k2"), measured("k3")});
  second.text = "More of b.";
  second.cases = 5;
  const std::string page =
      markdown({chapter("a", {measured("k1"), measured("k2")}), between, second});
  EXPECT_THAT(page, ::testing::StartsWith(
                        "# Everything\n\nIt begins here.\n\n## Contents\n\n"
                        "- [1. What of a?](#1-what-of-a)\n  - [Findings](#findings)\n"
                        "- [2. What of b?](#2-what-of-b)\n  - [Findings](#findings-1)\n"
                        "- [Appendix: environment and marks](#appendix-environment-and-marks)\n"));
  EXPECT_THAT(page, HasSubstr("## 1. What of a?\n\n### Findings\n\n![a plot](a/plot_1.svg)\n\n"
                              "Between the two.\n\n## 2. What of b?\n\nMore of b.\n\n"
                              "2 of its 5 cases have a result.\n"));
  EXPECT_THAT(page, HasSubstr("**host**: lab1"));
  EXPECT_THAT(page, HasSubstr("**shared**: 1 of its cases, with b"));
  EXPECT_THAT(page, HasSubstr("<summary>Experiment: a.yaml</summary>"));
  EXPECT_THAT(page, HasSubstr("No case is marked."));
  EXPECT_THAT(page, Not(HasSubstr("Chapters left out")));
}

TEST(SuiteDocument, NamesMarksAndChaptersThatAreLeft) {
  SuiteChapter left;
  left.name = "c";
  left.question = "What of c?";
  left.left = "no GPU: no driver";
  const std::string page =
      markdown({chapter("a", {measured("k1", {{"busy", "", "others used the cores"}})}), left,
                chapter("b", {measured("k1", {{"busy", "", "others used the cores"}})})});
  EXPECT_THAT(page, HasSubstr("## 2. What of b?")) << "the one that is left has no number";
  EXPECT_THAT(page, Not(HasSubstr("[3. ")));
  EXPECT_THAT(page, HasSubstr("- **c**: What of c? (no GPU: no driver)"));
  EXPECT_THAT(page, ::testing::ContainsRegex("\\| busy +\\| +1 \\| a, b +\\| others used"));
}

}  // namespace
}  // namespace assay::report
