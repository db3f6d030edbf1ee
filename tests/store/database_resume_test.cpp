// A resumed run: exactly one result per case, in the order of the plan.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sample_run.h"
#include "store/database/database.h"
#include "store/records/identity.h"
#include "temporary_folder.h"

namespace assay::store {
namespace {

using ::testing::ElementsAre;
using testing::oom_case;
using testing::sample_case;
using testing::text_of;

class StoreResume : public testing::TemporaryFolder {
 protected:
  StoreResume() : database_(Database::open(file("assay.db"), Access::read_write).value()) {
    info_.name = "a-1";
    info_.experiment = "a";
    info_.started = "2026-01-31T12:00:00Z";
    info_.finished = "2026-01-31T13:00:00Z";
    info_.first.experiment_text = "experiment: a\n";
    info_.first.machine = {{"host", "lab1"}};
    info_.first.provenance = {{"source", {{"commit", "0123abc"}}}};
    EXPECT_TRUE(database_.begin_run(info_));
  }

  // Case `number` of sample_run.h, at another place of the plan.
  static CaseResult at(std::int64_t ordinal, std::int64_t number) {
    CaseResult result = sample_case(number);
    result.ordinal = ordinal;
    return result;
  }

  // "0:128": ordinal and sequence length of each case, in the order returned.
  std::vector<std::string> places() {
    std::vector<std::string> places;
    const Run run = database_.load_run("a-1").value();
    for (const CaseResult& result : run.cases) {
      places.push_back(std::to_string(result.ordinal) + ":" +
                       to_text(result.parameters.at("seq_len")));
    }
    return places;
  }

  Session session() const { return info_.first; }

  Database database_;
  RunInfo info_;
};

TEST_F(StoreResume, AnotherCaseAtTheSamePlaceReplacesNothing) {
  ASSERT_TRUE(database_.record_case("a-1", at(0, 0)));
  ASSERT_TRUE(database_.record_case("a-1", at(1, 1)));
  // A narrowed plan numbers its cases anew.
  ASSERT_TRUE(database_.record_case("a-1", at(0, 2)));
  EXPECT_THAT(places(), ElementsAre("0:128", "1:256", "2:512"));
  // A repeated case keeps its last result alone, wherever the plan has it now.
  CaseResult again = at(7, 1);
  again.outcome = Outcome::timeout;
  ASSERT_TRUE(database_.record_case("a-1", again));
  EXPECT_THAT(places(), ElementsAre("0:128", "2:512", "7:256"));
  EXPECT_EQ(text_of(database_.load_run("a-1").value().cases[2]), text_of(again));
}

TEST_F(StoreResume, CasesTakeThePlacesOfThePlanAndTheOthersFollow) {
  for (const int number : {0, 1, 2, 3}) {
    ASSERT_TRUE(database_.record_case("a-1", at(number, number)));
  }
  ASSERT_TRUE(database_.arrange_cases("a-1", {{sample_case(3).key, 0}, {sample_case(0).key, 5}}));
  EXPECT_THAT(places(), ElementsAre("0:1024", "5:128", "6:256", "7:512"));
  ASSERT_TRUE(database_.arrange_cases("a-1", {{sample_case(0).key, 0},
                                              {sample_case(1).key, 1},
                                              {sample_case(2).key, 2},
                                              {sample_case(3).key, 3}}));
  EXPECT_THAT(places(), ElementsAre("0:128", "1:256", "2:512", "3:1024"));
}

TEST_F(StoreResume, OtherSurroundingsAreASessionOfTheirOwnAndTheSameAreNot) {
  EXPECT_EQ(database_.continue_run("a-1", session()).value(), 0);
  EXPECT_EQ(database_.run_info("a-1").value().finished, "") << "the run is open again";
  Session other = session();
  other.provenance["source"]["commit"] = "fedcba9";
  EXPECT_EQ(database_.continue_run("a-1", other).value(), 1);
  Session third = other;
  third.machine["host"] = "lab2";
  EXPECT_EQ(database_.continue_run("a-1", third).value(), 2);
  EXPECT_EQ(database_.continue_run("a-1", other).value(), 1);
  EXPECT_EQ(database_.continue_run("a-1", session()).value(), 0);
  CaseResult result = sample_case(0);
  result.session = 1;
  ASSERT_TRUE(database_.record_case("a-1", result));

  const Run run = database_.load_run("a-1").value();
  ASSERT_EQ(run.info.sessions.size(), 2u);
  EXPECT_EQ(run.cases[0].session, 1);
  EXPECT_EQ(session_of(run.info, 1).provenance["source"]["commit"], "fedcba9");
  EXPECT_EQ(session_of(run.info, 2).machine["host"], "lab2");
  EXPECT_EQ(session_of(run.info, 0).provenance["source"]["commit"], "0123abc");
}

TEST_F(StoreResume, ABuildIsDescribedOnce) {
  ASSERT_TRUE(database_.describe_build("a-1", "b1", {{"files", {{"flash.so", "ff"}}}}));
  ASSERT_TRUE(database_.describe_build("a-1", "b1", {{"files", {{"other.so", "00"}}}}));
  ASSERT_TRUE(database_.describe_build("a-1", "b2", {{"files", nlohmann::json::object()}}));
  const auto builds = database_.run_info("a-1").value().builds;
  ASSERT_EQ(builds.size(), 2u);
  EXPECT_EQ(builds.at("b1")["files"]["flash.so"], "ff");
}

TEST_F(StoreResume, WhatACaseWasToMeasureIsKnownWhereItWasWritten) {
  CaseResult known = sample_case(0);
  known.facts.passes = std::vector<std::string>{"forward", "backward"};
  CaseResult imported = sample_case(1);
  imported.facts = {};
  ASSERT_TRUE(database_.record_case("a-1", known));
  ASSERT_TRUE(database_.record_case("a-1", imported));
  const auto cases = database_.recorded_cases("a-1").value();
  EXPECT_EQ(cases.at(known.key).passes, (std::vector<std::string>{"forward", "backward"}));
  EXPECT_EQ(cases.at(imported.key).passes, std::nullopt);
}

TEST_F(StoreResume, AClockThatWasSetBackChangesNoOrder) {
  RunInfo later = info_;
  for (const char* started :
       {"2026-02-01T00:00:00Z", "1970-01-01T00:00:09Z", "1999-01-01T00:00:00Z"}) {
    later.started = started;
    ASSERT_TRUE(database_.begin_numbered_run(later));
  }
  EXPECT_EQ(database_.latest_run().value(), "a-4");
  std::vector<std::string> names;
  const std::vector<RunSummary> runs = database_.runs().value();
  for (const RunSummary& run : runs) names.push_back(run.info.name);
  EXPECT_THAT(names, ElementsAre("a-4", "a-3", "a-2", "a-1"));
  // The clock's times are stored as they are.
  EXPECT_EQ(database_.run_info("a-3").value().started, "1970-01-01T00:00:09Z");
  // A clock that once ran ahead does not hide later runs.
  later.started = "2099-01-01T00:00:00Z";
  ASSERT_TRUE(database_.begin_numbered_run(later));
  later.started = "2026-02-02T00:00:00Z";
  ASSERT_TRUE(database_.begin_numbered_run(later));
  EXPECT_EQ(database_.latest_run("a").value(), "a-6");
}

TEST_F(StoreResume, ADatabaseThatWasRemovedIsNotWrittenOnUnseen) {
  ASSERT_TRUE(database_.record_case("a-1", sample_case(0)));
  std::filesystem::remove(file("assay.db"));
  const auto recorded = database_.record_case("a-1", sample_case(1));
  ASSERT_FALSE(recorded);
  EXPECT_EQ(recorded.error().exit_code, ExitCode::results_unreadable);
  EXPECT_NE(recorded.error().text().find("removed or replaced"), std::string::npos);
  write("assay.db", "another");
  EXPECT_FALSE(database_.record_case("a-1", sample_case(1)));
  EXPECT_EQ(content(file("assay.db")), "another");
}

}  // namespace
}  // namespace assay::store
