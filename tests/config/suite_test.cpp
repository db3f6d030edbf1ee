#include "config/suite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "reading.h"
#include "shipped_catalogue.h"

namespace assay::config {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Files by name; "lengths.yaml" and "norms.yaml" are experiments, "nested.yaml" is a suite.
Result<OpenedFile> open_file(const std::string& named) {
  if (named == "lengths.yaml" || named == "norms.yaml") {
    return OpenedFile{"folder/" + named, "experiment: " + named.substr(0, named.find('.')) +
                                             "\ntitle: How long?\nworkload: attention\n"
                                             "matrix: {seq_len: [64, 128]}\n"};
  }
  if (named == "nested.yaml") {
    return OpenedFile{"folder/nested.yaml",
                      "suite: nested\nchapters: [{experiment: norms.yaml}]\n"};
  }
  return fail(ExitCode::bad_input, "the file '" + named + "' does not exist");
}

Suite suite_in(const std::string& text) {
  auto suite = read_suite(text, "suite.yaml", open_file);
  EXPECT_TRUE(suite) << suite.error().text();
  return suite.value_or(Suite());
}

std::string mistakes_in(const std::string& text) {
  const auto suite = read_suite(text, "suite.yaml", open_file);
  return suite ? "" : suite.error().text();
}

std::vector<std::string> in_words(const Changes& changes) {
  std::vector<std::string> words;
  for (const auto& [name, value] : changes.settings) {
    words.push_back(name.text + (value.is_scalar() ? "=" + value.text : "=…"));
  }
  for (const yaml::Node& filter : changes.filters) words.push_back(filter.text);
  return words;
}

TEST(SuiteReading, HasChaptersAndTextsInTheirOrder) {
  const Suite suite = suite_in(
      "suite: all\ntitle: Everything\ntext: Begin here.\nchapters:\n"
      "  - experiment: norms.yaml\n"
      "  - text: Between.\n"
      "  - chapter: short\n    experiment: lengths.yaml\n    title: And short ones?\n"
      "    text: Only the short ones.\n    filter: seq_len < 100\n");
  EXPECT_EQ(suite.name, "all");
  EXPECT_EQ(suite.title, "Everything");
  EXPECT_EQ(suite.text, "Begin here.");
  EXPECT_THAT(suite.names(), ElementsAre("norms", "short"));
  ASSERT_EQ(suite.chapters.size(), 3u);
  EXPECT_TRUE(suite.chapters[1].is_text());
  EXPECT_EQ(suite.chapters[1].text, "Between.");
  EXPECT_EQ(suite.chapters[0].file, "folder/norms.yaml");
  EXPECT_EQ(suite.chapters[2].changes.title, "And short ones?");
  EXPECT_THAT(in_words(suite.chapters[2].changes), ElementsAre("seq_len < 100"));
}

TEST(SuiteReading, AddsWhatHoldsOnADevice) {
  const Suite suite = suite_in(
      "suite: all\nchapters:\n  - experiment: norms.yaml\n    set: {batch: 8}\n    on:\n"
      "      cpu: {set: {batch: 1}, filter: [seq_len < 100, batch > 0]}\n"
      "      cuda: {leave: it is known}\n");
  const Chapter& chapter = suite.chapters[0];
  EXPECT_THAT(in_words(chapter.changes_on("cpu")),
              ElementsAre("batch=8", "batch=1", "seq_len < 100", "batch > 0"));
  EXPECT_THAT(in_words(chapter.changes_on("cuda")), ElementsAre("batch=8"));
  EXPECT_EQ(chapter.leave_on("cuda"), "it is known");
  EXPECT_EQ(chapter.leave_on("cpu"), "");
}

Reading read_chapter(const Suite& suite, const std::string& device = "cpu") {
  const Chapter& chapter = suite.chapters.at(0);
  Override override;
  override.of_chapter = chapter.changes_on(device);
  return read_document(chapter.experiment, chapter.experiment_text, chapter.file,
                       test_environment(), override);
}

TEST(SuiteReading, ChangesItsExperiments) {
  const Suite suite = suite_in(
      "suite: all\nchapters:\n  - experiment: lengths.yaml\n    title: Why?\n"
      "    set: {batch: [1, 2], seq_len: 32, measure.samples: 3, measure.passes: forward}\n"
      "    filter: batch > 1\n    report: model_summary\n");
  const auto experiment = read_chapter(suite).experiment;
  ASSERT_TRUE(experiment) << experiment.error().text();
  EXPECT_EQ(experiment->title, "Why?");
  EXPECT_THAT(experiment->passes, ElementsAre("forward"));
  ASSERT_TRUE(experiment->report.is_sequence());
  EXPECT_EQ(experiment->report.items[0].find("layout")->text, "model_summary");
  const auto plan = expand(*experiment);
  ASSERT_TRUE(plan) << plan.error().text();
  EXPECT_THAT(cases(*plan, {"seq_len", "batch", "measure.samples"}), ElementsAre("32 2 3"));
}

TEST(SuiteReading, MistakesInAChaptersChangesHaveTheirPlace) {
  const Suite suite = suite_in(
      "suite: all\nchapters:\n  - experiment: lengths.yaml\n"
      "    set: {sq_len: [1, 2], batch: many}\n    filter: sq_len < 3\n"
      "    needs: sq_len > 4\n");
  const auto experiment = read_chapter(suite).experiment;
  ASSERT_FALSE(experiment);
  const std::string text = experiment.error().text();
  EXPECT_THAT(text, HasSubstr("suite.yaml:4:11: unknown name 'sq_len'; did you mean 'seq_len'?"));
  EXPECT_THAT(text, HasSubstr("suite.yaml:4:34: batch: 'many' does not fit"));
  EXPECT_THAT(text, HasSubstr("suite.yaml:5:13: unknown name 'sq_len' in 'sq_len < 3'"));
  EXPECT_THAT(text, HasSubstr("suite.yaml:6:12: unknown name 'sq_len' in 'sq_len > 4'"));
}

TEST(SuiteReading, AnExperimentMayBeWrittenInIt) {
  const Suite suite = suite_in(
      "suite: all\nchapters:\n  - experiment:\n      experiment: own\n      workload: attention\n"
      "      matrix:\n        seq_len: [64, 128]\n        attention: [naive, fls]\n");
  EXPECT_THAT(suite.names(), ElementsAre("own"));
  const auto refused = read_chapter(suite).experiment;
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().text(), HasSubstr("suite.yaml:8:28: unknown attention 'fls'"));
  // Its text stands alone, as that of a file does.
  std::string text = suite.chapters[0].experiment_text;
  text.replace(text.find("fls"), 3, "flash");
  EXPECT_THAT(cases(planned(text), {"seq_len", "attention"}),
              ElementsAre("64 naive", "64 flash", "128 naive", "128 flash"));
}

struct Mistake {
  const char* chapters;
  const char* complaint;
};

TEST(SuiteReading, NamesWhatIsWrongAndWhere) {
  const Mistake mistakes[] = {
      {"  - experiment: lengths.yaml\n    fliter: a\n",
       "suite.yaml:4:5: unknown key 'fliter'; did you mean 'filter'?"},
      {"  - experiment: length.yaml\n", "suite.yaml:3:17: the file 'length.yaml' does not exist"},
      {"  - experiment: nested.yaml\n",
       "suite.yaml:3:17: 'folder/nested.yaml' is a suite, which cannot be a chapter"},
      {"  - experiment: {suite: x, chapters: []}\n",
       "suite.yaml:3:17: a chapter cannot be a suite"},
      {"  - experiment: lengths.yaml\n  - experiment: lengths.yaml\n",
       "suite.yaml:4:5: two chapters are named 'lengths'; name this one with `chapter: NAME`; the "
       "other is at line 3"},
      {"  - chapter: A B\n    experiment: lengths.yaml\n",
       "suite.yaml:3:14: 'A B' cannot name a chapter"},
      {"  - title: Why?\n", "suite.yaml:3:5: the chapter names no experiment"},
      {"  - lengths.yaml\n", "suite.yaml:3:5: a chapter is a mapping of keys"},
      {"  - experiment: lengths.yaml\n    on: {gpu: {}}\n",
       "suite.yaml:4:10: there is no device 'gpu'"},
      {"  - experiment: lengths.yaml\n    on: {cpu: {set: {device: cuda}}}\n",
       "suite.yaml:4:22: 'device' chooses among the entries of `on`"},
      {"  - experiment: lengths.yaml\n    set: [1]\n",
       "suite.yaml:4:10: 'set' must be a mapping of names to values"},
      {"  - text: Only words.\n", "suite.yaml:1:1: the suite has texts but no chapter"},
  };
  for (const Mistake& mistake : mistakes) {
    EXPECT_THAT(mistakes_in("suite: all\nchapters:\n" + std::string(mistake.chapters)),
                HasSubstr(mistake.complaint));
  }
  EXPECT_THAT(mistakes_in("suite: all\n"), HasSubstr("the key 'chapters' is missing"));
  EXPECT_THAT(mistakes_in("chapters: [{experiment: norms.yaml}]\n"),
              HasSubstr("the key 'suite' is missing"));
  EXPECT_THAT(mistakes_in("suite: all\nchapers: []\n"),
              HasSubstr("suite.yaml:2:1: unknown key 'chapers'; did you mean 'chapters'?"));
}

TEST(SuiteReading, ASuiteIsNoExperiment) {
  EXPECT_TRUE(is_suite("suite: a\nchapters: [{experiment: b.yaml}]\n"));
  EXPECT_FALSE(is_suite("experiment: a\nworkload: attention\n"));
  const auto experiment = parse_experiment("suite: a\nchapters: [{experiment: b.yaml}]\n",
                                           "suite.yaml", test_environment());
  ASSERT_FALSE(experiment);
  EXPECT_THAT(experiment.error().text(), HasSubstr("suite.yaml:1:1: this is a suite"));
}

// The page's example, its files replaced by what they may be.
TEST(SuiteGuide, ItsExampleIsReadAndPlanned) {
  const std::string page = read_file(ASSAY_SOURCE_DIR "/docs/suites.md").value_or("");
  const std::string fence = "```yaml\n";
  const std::size_t begin = page.find(fence) + fence.size();
  const auto suite = read_suite(page.substr(begin, page.find("```", begin) - begin), "page.yaml",
                                [](const std::string& named) -> Result<OpenedFile> {
                                  if (named == "lengths.yaml") return open_file(named);
                                  const std::string file =
                                      ASSAY_SOURCE_DIR "/experiments/" + named + ".yaml";
                                  return OpenedFile{file, read_file(file).value_or("")};
                                });
  ASSERT_TRUE(suite) << suite.error().text();
  EXPECT_THAT(suite->names(), ElementsAre("norm_layer", "short_ones", "copies"));
  for (const Chapter& chapter : suite->chapters) {
    if (chapter.is_text()) continue;
    Override override;
    override.of_chapter = chapter.changes_on("cpu");
    const auto experiment = read_document(chapter.experiment, chapter.experiment_text, chapter.file,
                                          shipped_environment(), override)
                                .experiment;
    ASSERT_TRUE(experiment) << experiment.error().text();
    EXPECT_TRUE(expand(*experiment)) << chapter.name;
  }
}

}  // namespace
}  // namespace assay::config
