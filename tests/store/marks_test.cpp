#include "store/records/marks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "store/exchange/export.h"
#include "store/exchange/import.h"

namespace assay::store {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Series series(const std::string& pass, const std::string& metric, const std::string& clock) {
  Series one;
  one.pass = pass;
  one.metric = metric;
  one.unit = metric == "time" ? "s" : "byte";
  one.clock = clock;
  one.samples = {1.5, 1.5};
  return one;
}

CaseResult marked_case() {
  CaseResult result;
  result.parameters["model"] = std::string("small");
  result.series = {series("forward", "time", "wall"), series("backward", "time", "wall"),
                   series("forward", "peak_memory", "")};
  result.facts.passes = std::vector<std::string>{"forward", "backward"};
  result.facts.marks = {{"throttled", "", "by heat"}, {"wide", "forward", "known to 9 %"}};
  return result;
}

std::vector<std::string> words(const std::vector<Mark>& marks) {
  std::vector<std::string> list;
  for (const Mark& mark : marks) list.push_back(mark.mark);
  return list;
}

TEST(StoreMarks, AreForWhatAClockHasTaken) {
  const CaseResult result = marked_case();
  EXPECT_THAT(words(result.facts.marks), ElementsAre("throttled", "wide"));
  EXPECT_THAT(words(marks_of(result, result.series[0])), ElementsAre("throttled", "wide"));
  EXPECT_THAT(words(marks_of(result, result.series[1])), ElementsAre("throttled"));
  EXPECT_THAT(marks_of(result, result.series[2]), IsEmpty());
  EXPECT_THAT(words(marks_of(result, series("forward", "first_call_time", "wall"))),
              ElementsAre("throttled"));
}

TEST(StoreMarks, SimulatedNodesConcernAllThatTheyWereMeasuredOn) {
  CaseResult result = marked_case();
  result.facts.marks = {{"simulated nodes", "", "n1, n2 are parts of 1 machine"}};
  for (const Series& one : result.series) {
    EXPECT_THAT(words(marks_of(result, one)), ElementsAre("simulated nodes"));
  }
}

TEST(StoreMarks, AnEndThatNoSeriesTellsOfIsForThoseThatAreOk) {
  CaseResult result = marked_case();
  EXPECT_FALSE(ended_after_measuring(result));
  result.outcome = Outcome::crashed;
  result.reason = "ended with signal 6";
  const auto end = ended_after_measuring(result);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->mark, "crashed");
  EXPECT_EQ(end->reason, "after all was measured: ended with signal 6");
  result.series[1].outcome = Outcome::unsupported;
  EXPECT_THAT(words(marks_of(result, result.series[0])),
              ElementsAre("throttled", "wide", "crashed"));
  EXPECT_THAT(words(marks_of(result, result.series[1])), ElementsAre("throttled"));
  EXPECT_THAT(words(marks_of(result, result.series[2])), ElementsAre("crashed"));
  EXPECT_THAT(words(result.facts.marks), ElementsAre("throttled", "wide"))
      << "the case tells its outcome itself";
  result.series[1].outcome = Outcome::crashed;
  EXPECT_FALSE(ended_after_measuring(result)) << "that series tells of it";
}

TEST(StoreMarks, WhatIsWrittenOtherwiseIsPassedOver) {
  for (const char* context :
       {"null", "[]", R"({"marks": 3})", R"({"marks": [1, {}, {"mark": 7}, {"pass": "forward"}]})",
        R"({"discarded": ["forward"]})", R"({"discarded": {"forward": 1}})"}) {
    CaseResult result = marked_case();
    result.facts = case_facts_from_json(nlohmann::json::parse(context));
    EXPECT_THAT(result.facts.marks, IsEmpty()) << context;
    EXPECT_EQ(to_json(result.facts), nlohmann::json::parse(context));
    EXPECT_FALSE(discarded_for(result, result.series[0])) << context;
  }
}

TEST(StoreMarks, ADiscardedSeriesHasAStandInWithoutFigures) {
  CaseResult result = marked_case();
  EXPECT_FALSE(stand_in_for(result, result.series[0]));
  result.facts.discarded = {{"forward", "wide"}, {"backward", "throttled"}};
  const auto forward = stand_in_for(result, result.series[0]);
  ASSERT_TRUE(forward);
  EXPECT_EQ(forward->outcome, Outcome::skipped);
  EXPECT_EQ(forward->reason, "discarded: known to 9 %");
  EXPECT_THAT(forward->samples, IsEmpty());
  EXPECT_EQ(stand_in_for(result, result.series[1])->reason, "discarded: by heat");
  EXPECT_FALSE(stand_in_for(result, result.series[2])) << "memory does not depend on health";
  EXPECT_FALSE(stand_in_for(result, series("forward", "first_call_time", "wall")))
      << "the mark is about the times of the pass";
  result.series[0].outcome = Outcome::oom;
  EXPECT_FALSE(stand_in_for(result, result.series[0])) << "there was no figure to discard";
}

class StoreMarksExport : public ::testing::Test {
 protected:
  StoreMarksExport() {
    run_.info.name = run_.info.experiment = "e";
    run_.cases = {marked_case()};
    run_.cases[0].facts.discarded = {{"forward", "wide"}};
  }
  store::Run run_;
};

TEST_F(StoreMarksExport, JsonLinesFlagThemAndKeepTheSamples) {
  std::ostringstream out;
  ASSERT_TRUE(export_json_lines(run_, out, {}));
  std::istringstream lines(out.str());
  std::vector<nlohmann::json> marks, samples;
  for (std::string line; std::getline(lines, line);) {
    marks.push_back(nlohmann::json::parse(line)["flags"]);
    samples.push_back(nlohmann::json::parse(line)["samples"]);
  }
  EXPECT_EQ(marks[0], nlohmann::json({"throttled", "wide", "discarded"}));
  EXPECT_EQ(marks[1], nlohmann::json({"throttled"}));
  EXPECT_EQ(marks[2], nlohmann::json::array());
  EXPECT_EQ(samples[0], nlohmann::json({1.5, 1.5}));
  const auto back = import_text(out.str(), "e.jsonl");
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_THAT(words(back->cases[0].facts.marks), ElementsAre("throttled", "wide"));
  EXPECT_TRUE(discarded_for(back->cases[0], back->cases[0].series[0]));
}

TEST_F(StoreMarksExport, ACsvHasNoFiguresOfThem) {
  std::ostringstream out;
  ASSERT_TRUE(export_csv(run_, out));
  EXPECT_THAT(out.str(), HasSubstr("skipped,discarded: known to 9 %"));
  const auto back = import_text(out.str(), "e.csv");
  ASSERT_TRUE(back) << back.error().text();
  for (const Series& one : back->cases[0].series) {
    if (one.metric != "time") continue;
    EXPECT_EQ(one.samples.size(), one.pass == "forward" ? 0u : 2u) << one.pass;
  }
}

}  // namespace
}  // namespace assay::store
