#include "store/database/database.h"

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <thread>
#include <type_traits>

#include "sample_run.h"
#include "store/records/json.h"
#include "store_database.h"

namespace assay::store {
namespace {

using ::testing::ElementsAre;
using testing::oom_case;
using testing::sample_case;
using testing::sample_run;
using testing::text_of;
using ::testing::UnorderedElementsAre;

static_assert(!std::is_copy_constructible_v<Database> && std::is_move_assignable_v<Database>);

using testing::StoreDatabase;

TEST_F(StoreDatabase, ARunComesBackAsItWasRecorded) {
  const Run run = sample_run();
  {
    Database database = open();
    record(database, run);
  }
  Database database = open(Access::read_only);
  const Run back = database.load_run(run.info.name).value();
  EXPECT_EQ(text_of(back), text_of(run));
  EXPECT_EQ(back.cases[0].parameters, run.cases[0].parameters);
  EXPECT_EQ(to_json(database.run_info(run.info.name).value()), to_json(run.info));
}

// Another program that has the file open.
void write_beside(const std::string& file, const char* statement) {
  SQLite::Database other(file, SQLite::OPEN_READWRITE);
  other.exec(statement);
}

TEST_F(StoreDatabase, CasesThatSomebodyElseChangesAreNoticed) {
  Database database = open();
  ASSERT_TRUE(database.begin_run(named("a-1")));
  ASSERT_TRUE(database.begin_run(named("b-1")));
  for (const int ordinal : {0, 1}) ASSERT_TRUE(database.record_case("a-1", sample_case(ordinal)));
  EXPECT_THAT(database.changed_cases("a-1").value(), ElementsAre());
  const std::string path = file("results/assay.db");
  write_beside(path, "UPDATE runs SET title = 'another' WHERE name = 'b-1'");
  EXPECT_THAT(database.changed_cases("a-1").value(), ElementsAre());
  write_beside(path,
               "UPDATE series SET samples = zeroblob(length(samples)), checksum = NULL WHERE "
               "case_id = (SELECT id FROM cases WHERE ordinal = 1)");
  EXPECT_THAT(database.changed_cases("a-1").value(), ElementsAre(sample_case(1).key));
  write_beside(path, "DELETE FROM cases WHERE ordinal = 0");
  EXPECT_THAT(database.changed_cases("a-1").value(),
              UnorderedElementsAre(sample_case(0).key, sample_case(1).key));
  // What it records itself is its own.
  for (const int ordinal : {0, 1}) ASSERT_TRUE(database.record_case("a-1", sample_case(ordinal)));
  EXPECT_THAT(database.changed_cases("a-1").value(), ElementsAre());
}

TEST_F(StoreDatabase, CasesComeBackInTheOrderOfThePlan) {
  Database database = open();
  ASSERT_TRUE(database.begin_run(named("a-1")));
  for (const int ordinal : {2, 0, 1})
    ASSERT_TRUE(database.record_case("a-1", sample_case(ordinal)));
  const Run run = database.load_run("a-1").value();
  ASSERT_EQ(run.cases.size(), 3u);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(run.cases[i].ordinal, i);
}

TEST_F(StoreDatabase, NonFiniteSamplesAndStatisticsSurvive) {
  const double infinity = std::numeric_limits<double>::infinity();
  CaseResult result = sample_case(0);
  result.wall_s = std::nan("");
  result.parameters["limit"] = -infinity;
  result.series = {
      testing::time_series("forward", {std::nan(""), infinity, -infinity, -0.0, 5e-324})};
  result.series[0].statistics = {{"mean", std::nan("")}, {"max", infinity}};
  Database database = open();
  ASSERT_TRUE(database.begin_run(named("a-1")));
  ASSERT_TRUE(database.record_case("a-1", result));
  const Run run = database.load_run("a-1").value();
  const Series& series = run.cases[0].series[0];
  EXPECT_EQ(text_of(run.cases[0]), text_of(result));
  EXPECT_TRUE(std::isnan(series.samples[0]));
  EXPECT_EQ(series.samples[1], infinity);
  EXPECT_EQ(series.samples[2], -infinity);
  EXPECT_TRUE(std::signbit(series.samples[3]));
  EXPECT_EQ(series.samples[4], 5e-324);
  EXPECT_TRUE(std::isnan(series.statistics.at("mean")));
  EXPECT_EQ(std::get<double>(run.cases[0].parameters.at("limit")), -infinity);
}

TEST_F(StoreDatabase, DataIsNeverTakenForSql) {
  CaseResult result = sample_case(0);
  const std::string nasty = std::string("'); DROP TABLE runs; --\0 zero \"q\"", 33);
  result.reason = result.build = nasty;
  result.parameters["text"] = std::string("'; DELETE FROM cases");
  result.series[0].part = nasty;
  Database database = open();
  ASSERT_TRUE(database.begin_run(named("it's one")));
  ASSERT_TRUE(database.record_case("it's one", result));
  EXPECT_EQ(text_of(database.load_run("it's one").value().cases[0]), text_of(result));
}

TEST_F(StoreDatabase, SamplesAreLittleEndianFloat64) {
  CaseResult result = sample_case(0);
  result.series = {testing::time_series("forward", {1.0, -2.0})};
  {
    Database database = open();
    ASSERT_TRUE(database.begin_run(named("a-1")));
    ASSERT_TRUE(database.record_case("a-1", result));
  }
  SQLite::Database raw(file("results/assay.db").string());
  EXPECT_EQ(raw.execAndGet("SELECT hex(samples) FROM series").getString(),
            "000000000000F03F00000000000000C0");
}

TEST_F(StoreDatabase, RecordingAgainReplaces) {
  Database database = open();
  record(database, sample_run());
  CaseResult again = oom_case(0);
  again.build = "other";
  ASSERT_TRUE(database.record_case("model_timing-1", again));
  const Run run = database.load_run("model_timing-1").value();
  ASSERT_EQ(run.cases.size(), 3u);
  EXPECT_EQ(text_of(run.cases[0]), text_of(again));
  SQLite::Database raw(file("results/assay.db").string());
  EXPECT_EQ(
      raw.execAndGet("SELECT count(*) FROM series WHERE case_id NOT IN (SELECT id FROM cases)")
          .getInt(),
      0);
}

TEST_F(StoreDatabase, TheSameOrdinalOfAnotherRunStays) {
  Database database = open();
  ASSERT_TRUE(database.begin_run(named("a-1")));
  ASSERT_TRUE(database.begin_run(named("a-2")));
  ASSERT_TRUE(database.record_case("a-1", sample_case(0)));
  ASSERT_TRUE(database.record_case("a-2", oom_case(0)));
  EXPECT_EQ(database.load_run("a-1").value().cases[0].outcome, Outcome::ok);
}

TEST_F(StoreDatabase, ADamagedRunIsNamedAndTheOthersStayUsable) {
  for (const std::string damage : {"name = 'a/b'", "overrides = '{'", "builds = '[]'"}) {
    std::filesystem::remove_all(file("results"));
    Database database = open();
    ASSERT_TRUE(database.begin_run(named("whole-1", "whole")));
    ASSERT_TRUE(database.begin_run(named("damaged-1", "damaged")));
    ASSERT_TRUE(database.record_case("whole-1", sample_case(0)));
    SQLite::Database(file("results/assay.db").string(), SQLite::OPEN_READWRITE)
        .exec("UPDATE runs SET " + damage + " WHERE experiment = 'damaged'");
    const std::vector<RunSummary> runs = database.runs().value();
    ASSERT_EQ(runs.size(), 1u) << damage;
    EXPECT_EQ(runs[0].info.name, "whole-1");
    const std::vector<DamagedRun> damaged = database.damaged_runs().value();
    ASSERT_EQ(damaged.size(), 1u) << damage;
    EXPECT_EQ(damaged[0].name, damage == "name = 'a/b'" ? "a/b" : "damaged-1");
    EXPECT_FALSE(damaged[0].why.empty());
    EXPECT_EQ(database.latest_run().value(), "whole-1");
    EXPECT_TRUE(database.load_run("whole-1"));
    EXPECT_TRUE(database.begin_numbered_run(named("", "damaged")));
  }
}

TEST_F(StoreDatabase, AnOutcomeThatNobodyWroteClosesOnlyItsOwnRun) {
  Database database = open();
  for (const char* name : {"a-1", "b-1"}) {
    ASSERT_TRUE(database.begin_run(named(name, name)));
    ASSERT_TRUE(database.record_case(name, sample_case(0)));
  }
  SQLite::Database(file("results/assay.db").string(), SQLite::OPEN_READWRITE)
      .exec("UPDATE cases SET outcome = 'fine' WHERE run_id = 1");
  EXPECT_EQ(database.runs().value().size(), 2u);
  EXPECT_FALSE(database.load_run("a-1"));
  EXPECT_TRUE(database.load_run("b-1"));
}

// `assay rm` leaves reports, and a database may be removed or replaced.
TEST_F(StoreDatabase, ListsRunsNewestFirstWithTheirOutcomes) {
  Database database = open();
  EXPECT_TRUE(database.runs().value().empty());
  EXPECT_EQ(database.latest_run().value(), std::nullopt);
  record(database, sample_run());
  ASSERT_TRUE(database.begin_run(named("later", "warmup", "2026-03-01T00:00:00Z")));
  Run imported;
  imported.info = named("imported", "warmup", "2025-03-01T00:00:00Z");
  ASSERT_TRUE(database.add_run(imported));
  const std::vector<RunSummary> runs = database.runs().value();
  ASSERT_EQ(runs.size(), 3u);
  EXPECT_EQ(runs[0].info.name, "later");
  EXPECT_EQ(runs[2].info.name, "imported");
  EXPECT_TRUE(runs[0].outcomes.empty());
  EXPECT_EQ(to_json(runs[1].info), to_json(sample_run().info));
  EXPECT_EQ(runs[1].outcomes, (std::map<Outcome, int>{{Outcome::ok, 1}, {Outcome::oom, 2}}));
  EXPECT_EQ(database.latest_run().value(), "later");
  EXPECT_EQ(database.latest_run("model_timing").value(), "model_timing-1");
  EXPECT_EQ(database.latest_run("absent").value(), std::nullopt);
}

TEST_F(StoreDatabase, FinishingARun) {
  Database database = open();
  ASSERT_TRUE(database.begin_run(named("a-1")));
  EXPECT_EQ(database.run_info("a-1").value().finished, "");
  ASSERT_TRUE(database.finish_run("a-1", "2026-01-01T01:00:00Z"));
  EXPECT_EQ(database.run_info("a-1").value().finished, "2026-01-01T01:00:00Z");
}

TEST_F(StoreDatabase, ResumeKnowsWhatIsThere) {
  Database database = open();
  ASSERT_TRUE(database.begin_run(named("a-1")));
  ASSERT_TRUE(database.begin_run(named("a-2")));
  ASSERT_TRUE(database.record_case("a-1", sample_case(0)));
  ASSERT_TRUE(database.record_case("a-1", oom_case(1)));
  ASSERT_TRUE(database.record_case("a-2", sample_case(2)));
  const auto cases = database.recorded_cases("a-1").value();
  ASSERT_EQ(cases.size(), 2u);
  EXPECT_EQ(cases.at(sample_case(0).key).build, "a1b2");
  EXPECT_EQ(cases.at(sample_case(0).key).outcome, Outcome::ok);
  EXPECT_EQ(cases.at(oom_case(1).key).outcome, Outcome::oom);
  EXPECT_THAT(cases.at(sample_case(0).key).of_passes, ElementsAre(Outcome::ok));
  CaseResult mixed = sample_case(0);
  mixed.series.push_back({.pass = "backward", .metric = "time", .outcome = Outcome::oom});
  ASSERT_TRUE(database.record_case("a-1", mixed));
  EXPECT_THAT(database.recorded_cases("a-1").value().at(mixed.key).of_passes,
              UnorderedElementsAre(Outcome::ok, Outcome::oom));
  EXPECT_EQ(cases.at(oom_case(1).key).ordinal, 1);
}

TEST_F(StoreDatabase, TwoWritersDoNotDisturbEachOther) {
  constexpr int each = 40;
  std::vector<std::string> problems[2];
  std::vector<std::string> names[2];
  const auto write = [&](int writer) {
    // Both make the file: opening races as well.
    Result<Database> database = Database::open(file("results/assay.db"), Access::read_write);
    if (!database) return problems[writer].push_back(database.error().text());
    for (int i = 0; i < each; ++i) {
      const auto name = database->begin_numbered_run(named("", "race"));
      if (!name) return problems[writer].push_back(name.error().text());
      names[writer].push_back(*name);
      if (const auto done = database->record_case(*name, sample_case(writer)); !done) {
        problems[writer].push_back(done.error().text());
      }
    }
  };
  std::thread first(write, 0);
  std::thread second(write, 1);
  first.join();
  second.join();
  EXPECT_EQ(problems[0], std::vector<std::string>{});
  EXPECT_EQ(problems[1], std::vector<std::string>{});
  Database database = open();
  std::set<std::string> all;
  for (int writer = 0; writer < 2; ++writer) {
    for (const std::string& name : names[writer]) {
      all.insert(name);
      const Run run = database.load_run(name).value();
      ASSERT_EQ(run.cases.size(), 1u);
      EXPECT_EQ(run.cases[0].ordinal, writer);
    }
  }
  EXPECT_EQ(all.size(), 2u * each);
}

TEST_F(StoreDatabase, AReaderSeesACaseWholeWhileItIsWritten) {
  Database writer = open();
  record(writer, sample_run());
  Database reader = open(Access::read_only);
  SQLite::Database other(file("results/assay.db").string(), SQLite::OPEN_READWRITE);
  other.exec("BEGIN IMMEDIATE; DELETE FROM series");
  EXPECT_EQ(text_of(reader.load_run("model_timing-1").value()), text_of(sample_run()));
  other.exec("ROLLBACK");
}

// A process killed in the middle of a transaction leaves it without commit.
TEST_F(StoreDatabase, ADroppedTransactionLeavesWhatWasThere) {
  {
    Database database = open();
    record(database, sample_run());
    SQLite::Database killed(file("results/assay.db").string(), SQLite::OPEN_READWRITE);
    killed.exec("PRAGMA foreign_keys = ON; BEGIN IMMEDIATE; DELETE FROM cases; DELETE FROM runs");
    EXPECT_EQ(killed.execAndGet("SELECT count(*) FROM series").getInt(), 0);
  }
  Database database = open();
  EXPECT_EQ(text_of(database.load_run("model_timing-1").value()), text_of(sample_run()));
  EXPECT_TRUE(database.record_case("model_timing-1", sample_case(7)));
}

}  // namespace
}  // namespace assay::store
