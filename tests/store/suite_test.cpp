#include "store/records/suite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "sample_run.h"
#include "store/database/database.h"
#include "store/exchange/export.h"
#include "store/exchange/import.h"
#include "temporary_folder.h"

namespace assay::store {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::sample_case;
using testing::time_series;

ChapterRecord chapter(const std::string& name, std::vector<std::string> cases,
                      std::vector<std::string> passes = {"forward"}) {
  ChapterRecord record;
  record.name = name;
  record.title = "What of " + name + "?";
  record.experiment = name;
  record.file = name + ".yaml";
  record.experiment_text = "experiment: " + name + "\n";
  record.overrides = {"--set a=1"};
  record.passes = std::move(passes);
  record.cases = std::move(cases);
  return record;
}

// Two cases; of the second the backward pass ran out of memory.
Run suite_run(std::vector<ChapterRecord> chapters) {
  Run run;
  run.info.name = "all-1";
  run.info.experiment = "all";
  run.info.started = "2026-01-31T12:00:00Z";
  run.info.first.experiment_text = "suite: all\n";
  run.info.first.machine = {{"host", "lab1"}};
  run.info.first.provenance = {{"versions", {{"assay", "1"}}},
                               {"suite", to_json(SuiteRecord{"all", "All", "", chapters})}};
  run.cases = {sample_case(0), sample_case(1)};
  Series backward = time_series("backward", {});
  backward.outcome = Outcome::oom;
  backward.reason = "it needs 12 GiB";
  run.cases[1].series.push_back(backward);
  run.cases[1].outcome = Outcome::oom;
  run.cases[1].reason = backward.reason;
  run.cases[1].facts.passes = {"forward", "backward"};
  return run;
}

const std::string first = sample_case(0).key;
const std::string second = sample_case(1).key;

TEST(SuiteRecords, AChapterIsARunOfItsExperiment) {
  const store::Run run = suite_run({chapter("a", {second, first, "not measured"}),
                                    chapter("b", {second}, {"forward", "backward"})});
  const auto suite = suite_of(run.info);
  ASSERT_TRUE(suite);
  ASSERT_NE(suite->find("a"), nullptr);
  EXPECT_EQ(suite->find("c"), nullptr);
  const store::Run own = chapter_run(run, *suite->find("a"));
  EXPECT_EQ(own.info.experiment, "a");
  EXPECT_EQ(own.info.title, "What of a?");
  EXPECT_EQ(own.info.first.experiment_text, "experiment: a\n");
  EXPECT_THAT(own.info.first.overrides, ElementsAre("--set a=1"));
  EXPECT_FALSE(suite_of(own.info)) << "it is of an experiment";
  ASSERT_EQ(own.cases.size(), 2u);
  EXPECT_EQ(own.cases[0].key, second) << "in the chapter's order";
}

TEST(SuiteRecords, APassOfAnotherChapterDoesNotFailACase) {
  const store::Run run = suite_run({chapter("a", {second}), chapter("b", {second}, {"backward"})});
  const SuiteRecord suite = *suite_of(run.info);
  const CaseResult forward = chapter_run(run, suite.chapters[0]).cases.at(0);
  EXPECT_EQ(forward.outcome, Outcome::ok);
  EXPECT_EQ(forward.reason, "");
  for (const Series& series : forward.series) EXPECT_EQ(series.pass, "forward");
  EXPECT_THAT(*forward.facts.passes, ElementsAre("forward"));
  const CaseResult backward = chapter_run(run, suite.chapters[1]).cases.at(0);
  EXPECT_EQ(backward.outcome, Outcome::oom);
  EXPECT_EQ(backward.reason, "it needs 12 GiB");
}

TEST(SuiteRecords, ACaseHasTheChaptersOwnSettings) {
  ChapterRecord plain = chapter("a", {first});
  plain.settings = {{"observe", Value()}, {"measure.observed_steps", std::int64_t{2}}};
  store::Run run = suite_run({plain});
  run.cases[0].parameters["observe"] = std::string("kernels");
  run.cases[0].parameters["measure.observed_steps"] = std::int64_t{5};
  run.cases[0].parameters[chapter_parameter] = std::string("a");
  const store::Run own = chapter_run(run, *suite_of(run.info)->find("a"));
  Parameters expected = sample_case(0).parameters;
  expected["measure.observed_steps"] = std::int64_t{2};
  EXPECT_EQ(own.cases.at(0).parameters, expected);
}

TEST(SuiteRecords, TheNewestSessionsChaptersHaveTheCasesOfAll) {
  store::Run run = suite_run({chapter("a", {first}), chapter("gone", {first})});
  Session later = run.info.first;
  ChapterRecord renewed = chapter("a", {second});
  renewed.title = "Renewed?";
  later.provenance["suite"] =
      to_json(SuiteRecord{"all", "All of it", "", {renewed, chapter("new", {})}});
  run.info.sessions = {later};
  const auto suite = suite_of(run.info);
  ASSERT_TRUE(suite);
  EXPECT_EQ(suite->title, "All of it");
  ASSERT_EQ(suite->chapters.size(), 2u);
  EXPECT_EQ(suite->chapters[0].title, "Renewed?");
  EXPECT_THAT(suite->chapters[0].cases, ElementsAre(second, first));
  EXPECT_THAT(suite->chapters[1].cases, IsEmpty());
}

TEST(SuiteRecords, ASessionThatNarrowedAChapterLeavesItsPasses) {
  store::Run run = suite_run({chapter("a", {first, second}, {"backward"})});
  Session later = run.info.first;
  ChapterRecord narrowed = chapter("a", {}, {});
  narrowed.left = "no case is left";
  later.provenance["suite"] = to_json(SuiteRecord{"all", "All", "", {narrowed}});
  run.info.sessions = {later};
  const SuiteRecord suite = *suite_of(run.info);
  EXPECT_THAT(suite.chapters[0].cases, ElementsAre(first, second));
  EXPECT_THAT(suite.chapters[0].passes, ElementsAre("backward"));
}

TEST(SuiteRecords, AreCarriedByExportAndImport) {
  const store::Run run = suite_run({chapter("a", {first}), chapter("b", {second})});
  std::ostringstream lines;
  ASSERT_TRUE(export_json_lines(run, lines));
  const auto imported = import_text(lines.str(), "all.jsonl");
  ASSERT_TRUE(imported) << imported.error().text();
  const auto suite = suite_of(imported->info);
  ASSERT_TRUE(suite);
  EXPECT_EQ(to_json(*suite), to_json(*suite_of(run.info)));
  EXPECT_EQ(chapter_run(*imported, *suite->find("b")).cases.at(0).parameters,
            run.cases[1].parameters);
}

TEST(SuiteRecords, SenselessOnesAreNone) {
  store::Run run = suite_run({});
  for (const char* text : {"1", "[]", "{\"chapters\": 3}", "{\"name\": \"a\", \"chapters\": [1]}",
                           "{\"name\": \"a\", \"chapters\": [{\"name\": \"../../b\"}]}"}) {
    run.info.first.provenance["suite"] = nlohmann::json::parse(text);
    EXPECT_FALSE(suite_of(run.info)) << text;
  }
  run.info.first.provenance = nullptr;
  EXPECT_FALSE(suite_of(run.info));
}

class WallTimes : public testing::TemporaryFolder {};

TEST_F(WallTimes, AreThoseOfTheNewestRunThatMeasuredTheCase) {
  auto database = Database::open(file("assay.db"), Access::read_write);
  ASSERT_TRUE(database) << database.error().text();
  const auto add = [&](double seconds, Outcome outcome, const char* started) {
    store::Run run = suite_run({});
    run.info.name.clear();
    run.info.started = started;
    run.cases = {sample_case(0)};
    run.cases[0].wall_s = seconds;
    run.cases[0].outcome = outcome;
    ASSERT_TRUE(database->add_run(run));
  };
  add(2, Outcome::ok, "2026-01-02T00:00:00Z");
  add(3, Outcome::oom, "2026-01-03T00:00:00Z");
  add(1, Outcome::ok, "2026-01-01T00:00:00Z");
  add(9, Outcome::skipped, "2026-01-04T00:00:00Z");
  const auto times = database->wall_times({first, second});
  ASSERT_TRUE(times) << times.error().text();
  EXPECT_THAT(*times, ElementsAre(::testing::Pair(first, 3.0)));
}

}  // namespace
}  // namespace assay::store
