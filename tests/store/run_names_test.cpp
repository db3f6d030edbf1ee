#include <SQLiteCpp/Database.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sample_run.h"
#include "store_database.h"

namespace assay::store {
namespace {

using testing::sample_case;
using testing::sample_run;
using testing::text_of;

class RunNames : public testing::StoreDatabase {};

TEST_F(RunNames, NamesAreUniqueAndFitForAFolder) {
  Database database = open();
  ASSERT_TRUE(database.begin_run(named("a-1")));
  const auto taken = database.begin_run(named("a-1"));
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().exit_code, ExitCode::bad_input);
  for (const char* name : {"", "../x", "a/b", ".hidden", "a\\b", "a\nb"}) {
    EXPECT_FALSE(database.begin_run(named(name))) << name;
    EXPECT_FALSE(database.begin_numbered_run(named("", name))) << name;
  }
  EXPECT_FALSE(database.begin_run(named(std::string(300, 'x'))));
  EXPECT_EQ(database.runs().value().size(), 1u);
}

TEST_F(RunNames, RunsAreNumberedByTheirExperiment) {
  Database database = open();
  EXPECT_EQ(database.unused_run_name("warmup").value(), "warmup-1");
  EXPECT_EQ(database.begin_numbered_run(named("", "warmup")).value(), "warmup-1");
  EXPECT_EQ(database.begin_numbered_run(named("", "warmup")).value(), "warmup-2");
  ASSERT_TRUE(database.begin_run(named("warmup-9")));
  ASSERT_TRUE(database.begin_run(named("warmup-old")));
  ASSERT_TRUE(database.begin_run(named("warmup-12-again")));
  EXPECT_EQ(database.begin_numbered_run(named("", "warmup")).value(), "warmup-10");
  EXPECT_EQ(database.begin_numbered_run(named("", "warm")).value(), "warm-1");
  EXPECT_EQ(database.unused_run_name("warm%").value(), "warm%-1");
}

// A file system's names have 255 bytes.
TEST_F(RunNames, ALongNameOfAnExperimentLeavesRoomForTheNumberOfItsRuns) {
  Database database = open();
  for (const std::size_t length : {186u, 199u, 200u, 5000u}) {
    const std::string experiment = std::string(length - 1, 'x') + std::to_string(length % 10);
    std::string last;
    for (int run = 1; run <= 12; ++run) {
      const auto name = database.begin_numbered_run(named("", experiment));
      ASSERT_TRUE(name) << name.error().text();
      EXPECT_LE(name->size(), 200u);
      ASSERT_TRUE(database.record_case(*name, sample_case(0)));
      ASSERT_TRUE(database.load_run(*name));
      last = *name;
    }
    EXPECT_EQ(database.latest_run(experiment).value(), last);
  }
  EXPECT_EQ(database.runs().value().size(), 48u);

  Run imported = sample_run();
  imported.info.name.clear();
  imported.info.experiment = std::string(199, 'y');
  const auto name = database.add_run(imported);
  ASSERT_TRUE(name) << name.error().text();
  EXPECT_TRUE(database.load_run(*name));
}

TEST_F(RunNames, ACutNameEndsBetweenTwoCharacters) {
  Database database = open();
  std::string experiment = "a";
  for (int i = 0; i < 100; ++i) experiment += "é";
  const std::string name = database.begin_numbered_run(named("", experiment)).value();
  EXPECT_EQ(name, experiment.substr(0, 185) + "-1");
}

// Versions before this one numbered names beyond what they read again.
TEST_F(RunNames, ANameThatAnEarlierVersionMadeTooLongIsRead) {
  Database database = open();
  ASSERT_TRUE(database.begin_run(named("a-1", "a")));
  const std::string name = std::string(199, 'x') + "-1";
  SQLite::Database(file("results/assay.db").string(), SQLite::OPEN_READWRITE)
      .exec("UPDATE runs SET name = '" + name + "'");
  EXPECT_EQ(database.runs().value().size(), 1u);
  EXPECT_EQ(database.latest_run().value(), name);
  EXPECT_TRUE(database.load_run(name));
}

TEST_F(RunNames, ANewRunTakesNoFolderThatAnotherHasLeft) {
  namespace fs = std::filesystem;
  Database database = open();
  fs::create_directories(file("results/warmup-1"));
  write("results/warmup-1/report.md", "of an earlier run");
  fs::create_directories(file("results/warmup-2"));  // empty: nothing to lose
  fs::create_directories(file("elsewhere"));
  fs::create_directory_symlink(file("elsewhere"), file("results/warmup-3"));
  EXPECT_EQ(database.unused_run_name("warmup").value(), "warmup-2");
  EXPECT_EQ(database.begin_numbered_run(named("", "warmup")).value(), "warmup-2");
  EXPECT_EQ(database.begin_numbered_run(named("", "warmup")).value(), "warmup-4");
  const auto taken = database.begin_run(named("warmup-1"));
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().exit_code, ExitCode::bad_input);
  EXPECT_THAT(taken.error().text(), ::testing::HasSubstr("warmup-1"));
  Run imported = sample_run();
  imported.info.name = "warmup-1";
  imported.info.experiment = "warmup";
  EXPECT_EQ(database.add_run(imported).value(), "warmup-5");
  EXPECT_EQ(content(file("results/warmup-1/report.md")), "of an earlier run");
}

TEST_F(RunNames, AnUnknownRunIsNamedWithItsNearestSpelling) {
  Database database = open();
  EXPECT_EQ(database.load_run("x").error().exit_code, ExitCode::bad_input);
  record(database, sample_run());
  const std::vector<Error> errors{database.load_run("model_timming-1").error(),
                                  database.run_info("model_timming-1").error(),
                                  database.recorded_cases("model_timming-1").error(),
                                  database.continue_run("model_timming-1", {}).error(),
                                  database.describe_build("model_timming-1", "a", {}).error(),
                                  database.arrange_cases("model_timming-1", {}).error(),
                                  database.finish_run("model_timming-1", "").error(),
                                  database.record_case("model_timming-1", sample_case(0)).error()};
  for (const Error& error : errors) {
    EXPECT_EQ(error.exit_code, ExitCode::bad_input);
    EXPECT_NE(error.text().find("did you mean 'model_timing-1'?"), std::string::npos)
        << error.text();
  }
}

TEST_F(RunNames, AddRunKeepsAFreeNameAndNumbersATakenOne) {
  Database database = open();
  const Run run = sample_run();
  EXPECT_EQ(database.add_run(run).value(), "model_timing-1");
  EXPECT_EQ(database.add_run(run).value(), "model_timing-2");
  EXPECT_EQ(text_of(database.load_run("model_timing-1").value()), text_of(run));
  Run twin = run;
  twin.info.name = "";
  EXPECT_EQ(database.add_run(twin).value(), "model_timing-3");
  twin.info.name = "../evil";
  EXPECT_FALSE(database.add_run(twin));
}

TEST_F(RunNames, AnImportedRunCannotLeaveTheResultsFolder) {
  Database database = open();
  Run run = sample_run();
  run.info.name = "taken";
  run.info.experiment = "../../x";
  ASSERT_TRUE(database.add_run(run));
  // The name is taken, so the experiment's becomes the folder's.
  const auto again = database.add_run(run);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().exit_code, ExitCode::bad_input);
  for (const char* name : {"..", "/etc/cron.d/x", "a/../../b", "assay.db", "assay.db-wal"}) {
    run.info.name = name;
    EXPECT_FALSE(database.add_run(run)) << name;
  }
  EXPECT_EQ(database.runs().value().size(), 1u);
}

TEST_F(RunNames, NamesAreNeverTakenForSql) {
  const std::string nasty = "'; DROP TABLE runs; --\"`$(id)";
  Database database = open();
  const std::string name = database.begin_numbered_run(named("", nasty)).value();
  EXPECT_EQ(name, nasty + "-1");
  EXPECT_EQ(database.latest_run(nasty).value(), name);
  EXPECT_FALSE(database.latest_run("' OR '1'='1").value());
  ASSERT_TRUE(database.record_case(name, sample_case(0)));
  ASSERT_TRUE(database.finish_run(name, nasty));
  EXPECT_EQ(database.run_info(name).value().finished, nasty);
  EXPECT_EQ(database.recorded_cases(name).value().size(), 1u);
  const std::string build = nasty + "'] $. \\";
  ASSERT_TRUE(database.describe_build(name, build, {{"files", {{nasty, nasty}}}}));
  EXPECT_EQ(database.run_info(name).value().builds.at(build)["files"][nasty], nasty);
  EXPECT_FALSE(database.load_run("' OR '1'='1"));
}

TEST_F(RunNames, TheHighestNumberThereIsDoesNotStopTheCounting) {
  Database database = open();
  ASSERT_TRUE(database.begin_run(named("a-9223372036854775807")));
  EXPECT_EQ(database.begin_numbered_run(named("", "a")).value(), "a-1");
}

}  // namespace
}  // namespace assay::store
