#include "cli/planned_suite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "base/text.h"
#include "cli/suite_outlook.h"
#include "config/shipped_catalogue.h"
#include "config/test_catalogue.h"

namespace assay::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::filesystem::path source_folder = ASSAY_SOURCE_DIR;

Context suite_context() {
  Context context;
  context.installation.data = source_folder;
  context.catalogue = *config::test_environment().catalogue;
  return context;
}

constexpr const char* two_chapters =
    "suite: all\nchapters:\n"
    "  - experiment:\n      experiment: lengths\n      title: Long?\n      workload: attention\n"
    "      matrix: {seq_len: [64, 128, 256]}\n      measure: {passes: [forward]}\n"
    "    on: {cpu: {set: {d_head: 8}, filter: seq_len < 256}}\n"
    "  - text: Between.\n"
    "  - experiment:\n      experiment: steps\n      title: Steps?\n      workload: model_step\n"
    "      matrix: {model: [small, large], seq_len: [64, 128]}\n"
    "      measure: {passes: [forward]}\n"
    "      report:\n        - plot: {x: seq_len, y: {metric: time}, series: [model]}\n";

Result<PlannedSuite> plan_suite(const std::string& text, const SuiteRequest& request = {}) {
  const Context here = suite_context();
  return plan_suite_file(here, (source_folder / "experiments" / "all.yaml").string(), text,
                         request);
}

std::string suite_objections(const std::string& text, const SuiteRequest& request = {}) {
  const auto planned = plan_suite(text, request);
  return planned ? "" : planned.error().text();
}

std::vector<std::size_t> chapter_sizes(const PlannedSuite& suite) {
  std::vector<std::size_t> cases;
  for (const run::ChapterPlan& chapter : suite.chapter_plans()) {
    cases.push_back(chapter.plan.size());
  }
  return cases;
}

TEST(ASuite, IsPlannedForItsDevice) {
  const auto here = plan_suite(two_chapters, {.given = {{"device=cpu"}, {}}});
  ASSERT_TRUE(here) << here.error().text();
  EXPECT_THAT(chapter_sizes(*here), ElementsAre(2, 4));
  EXPECT_THAT(here->record.chapters[0].overrides,
              ElementsAre("--set d_head=8", "--set device=cpu", "--filter seq_len < 256"));
  EXPECT_EQ(here->record.chapters[1].text, "Between.");
  EXPECT_EQ(here->record.chapters[2].title, "Steps?");
  const auto there = plan_suite(two_chapters, {.given = {{"device=cuda"}, {}}});
  ASSERT_TRUE(there) << there.error().text();
  EXPECT_THAT(chapter_sizes(*there), ElementsAre(3, 4));
}

TEST(ASuite, TakesSettingsAndFiltersWhereTheyAreKnown) {
  const auto set =
      plan_suite(two_chapters, {.given = {{"model=[large]", "measure.samples=3"}, {}}});
  ASSERT_TRUE(set) << set.error().text();
  EXPECT_THAT(set->record.chapters[2].overrides,
              ElementsAre("--set model=[large]", "--set measure.samples=3"));
  EXPECT_THAT(chapter_sizes(*set), ElementsAre(2, 2));
  const auto filtered = plan_suite(two_chapters, {.given = {{}, {"model == small"}}});
  ASSERT_TRUE(filtered) << filtered.error().text();
  EXPECT_THAT(chapter_sizes(*filtered), ElementsAre(2, 2));
  EXPECT_THAT(suite_objections(two_chapters, {.given = {{"modle=[small]"}, {}}}),
              HasSubstr("--set 1:1:1: unknown name 'modle'"));
  EXPECT_THAT(suite_objections(two_chapters, {.given = {{}, {"modle == small"}}}),
              HasSubstr("unknown name 'modle'"));
}

TEST(ASuite, LeavesAChapterOfWhichAFilterKeepsNothing) {
  const auto planned = plan_suite(two_chapters, {.given = {{}, {"seq_len == 64 && d_head == 8"}}});
  ASSERT_TRUE(planned) << planned.error().text();
  const auto filtered = plan_suite(two_chapters, {.given = {{}, {"seq_len > 300"}}});
  ASSERT_FALSE(filtered);
  EXPECT_THAT(filtered.error().text(), HasSubstr("no chapter of the suite is left to run"));
  const auto one = plan_suite(two_chapters, {.given = {{"device=cuda"}, {"seq_len > 200"}}});
  ASSERT_TRUE(one) << one.error().text();
  EXPECT_THAT(chapter_sizes(*one), ElementsAre(3 - 2));
  EXPECT_NE(one->record.chapters[2].left, "");
}

TEST(ASuite, ReportsTheMistakesOfAllChapters) {
  std::string text = two_chapters;
  text.replace(text.find("seq_len: [64, 128, 256]"), 7, "sq_lens");
  text.replace(text.find("{x: seq_len"), 11, "{x: seq_lon");
  const std::string all = suite_objections(text);
  EXPECT_THAT(all, HasSubstr("all.yaml:7:16: unknown name 'sq_lens'"));
  EXPECT_THAT(all, HasSubstr("all.yaml:18:21: axis 'seq_lon' does not exist"));
  EXPECT_THAT(suite_objections(two_chapters, {.only = {"length"}}),
              HasSubstr("the suite has no chapter 'length'; did you mean 'lengths'?"));
}

TEST(ASuite, HasAnOutlook) {
  const std::string text =
      std::string(two_chapters) +
      "  - chapter: again\n    experiment:\n      experiment: lengths\n      title: Again?\n"
      "      workload: attention\n      matrix: {seq_len: [64, 512], d_head: [8]}\n"
      "      measure: {passes: [forward, backward]}\n"
      "  - chapter: never\n    needs: seq_len == 64\n    experiment:\n"
      "      experiment: gpu\n      title: Fast?\n      workload: attention\n"
      "      fixed: {device: cuda, seq_len: 64}\n";
  const auto suite = plan_suite(text, {.given = {{}, {}}});
  ASSERT_TRUE(suite) << suite.error().text();
  const Context here = suite_context();
  const run::Machine machine;
  const run::Work work(here.catalogue, machine, false, suite->chapter_plans());
  EXPECT_EQ(work.size(), 2u + 4 + 1 + 1) << "64 is shared";
  std::vector<std::string> asked;
  const SuiteOutlook outlook = outlook_of(*suite, work, {[&](const std::vector<std::string>& keys) {
    asked = keys;
    return std::map<std::string, double>{{keys[0], 30}, {keys[2], 60}};
  }},
                                          {work.key(1)});
  EXPECT_EQ(asked.size(), 6u);
  EXPECT_THAT(
      outlook.text("all"),
      HasSubstr("suite all: 3 of 4 chapters, 7 cases, 1 of them shared by several chapters\n"
                "estimated time: 1 min 30 s for 2 cases that earlier runs measured; 4 cases "
                "are unknown\nleft out: never: "));
  EXPECT_THAT(work.resolved(0).request.passes, ElementsAre("forward", "backward"));
  EXPECT_THAT(work.resolved(1).request.passes, ElementsAre("forward"));
}

// Its files are found, and on a CPU it is small.
TEST(TheWriteup, IsPlannedOnACpu) {
  Context here = suite_context();
  here.catalogue = config::shipped_catalogue();
  const std::string file = (source_folder / "experiments" / "writeup.yaml").string();
  const auto text = read_file(file);
  ASSERT_TRUE(text);
  const auto suite = plan_suite_file(here, file, *text, {.given = {{"device=cpu"}, {}}});
  ASSERT_TRUE(suite) << suite.error().text();
  run::Machine machine;
  machine.gpu_problem = "no driver";
  machine.memory_bytes = std::int64_t{8} << 30;
  const run::Work work(here.catalogue, machine, false, suite->chapter_plans());
  const SuiteOutlook outlook =
      outlook_of(*suite, work, {[](const auto&) { return std::map<std::string, double>(); }});
  EXPECT_GE(outlook.chapters - outlook.left.size(), 8u);
  std::size_t timed = 0;
  for (std::size_t item = 0; item < work.size(); ++item) {
    if (!work.chosen(item)) continue;
    const run::ResolvedCase resolved = work.resolved(item);
    timed += std::ranges::any_of(resolved.request.passes, [&](const std::string& pass) {
      return std::ranges::count(resolved.unclocked, pass) == 0;
    });
    EXPECT_LE(store::integer_of(resolved.request.parameters, "measure.samples", 0), 20)
        << work.describe(item);
  }
  EXPECT_LE(timed, 150u);
  EXPECT_LE(outlook.cases, 250u) << "with those that compute without a clock";
  // Everywhere it has every chapter.
  const auto large = plan_suite_file(here, file, *text, {.given = {{"device=cuda"}, {}}});
  ASSERT_TRUE(large) << large.error().text();
  EXPECT_EQ(large->chapter_plans().size(), large->suite.names().size());
}

}  // namespace
}  // namespace assay::cli
