// Results on a failing disk, in a database that others write or another version has made, and with
// a clock that goes backwards.

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>

#include "trial.h"

namespace assay::faults {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

// Ten cases with about 16 KiB of samples each.
constexpr const char* ten_cases =
    "experiment: storage\nworkload: attention\n"
    "matrix: {seq_len: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]}\n"
    "fixed: {batch: 1, heads: 1, d_head: 8, attention: naive, device: cpu}\n"
    "measure: {passes: [forward], warmup: 1, samples: 2000}\n";

const std::vector<std::string> run_it = {"run", "storage.yaml"};

struct DiskFault {
  std::string name;
  int error;
  long bytes;  // that can still be written
  std::string done;
  std::string reason;
};

void PrintTo(const DiskFault& fault, std::ostream* stream) { *stream << fault.name; }

// All reported cases are stored, and a resume on a sound disk completes the run.
std::size_t expect_kept_and_resumed(const Trial& trial, const End& end) {
  trial.expect_sound();
  const auto finished = reported(end.errors);
  const auto kept = trial.stored().cases.size();
  EXPECT_GE(kept, finished.size()) << end.errors;
  const bool begun = !trial.run_names().empty();
  const End resumed =
      trial.run(begun ? std::vector<std::string>{"run", "storage.yaml", "--resume"} : run_it);
  EXPECT_EQ(resumed.exit_code, 0) << resumed.errors;
  EXPECT_EQ(trial.stored().cases.size(), 10u);
  EXPECT_EQ(reported(resumed.errors).size(), 10 - kept);
  trial.expect_sound();
  return kept;
}

class Disk : public ::testing::TestWithParam<DiskFault> {};

TEST_P(Disk, FailsAndWhatWasStoredIsKept) {
  const DiskFault& fault = GetParam();
  Trial trial("Results");
  trial.folder().write("storage.yaml", ten_cases);
  const auto sound = trial.environment;
  trial.environment["LD_PRELOAD"] = test::fixture("faulty_system");
  trial.environment["FAULTY_DISK"] = fmt::format("{}:{}", fault.error, fault.bytes);
  trial.environment["FAULTY_DISK_FOLDER"] = (trial.folder().path() / "results").string();
  const End end = trial.run(run_it);
  EXPECT_EQ(end.exit_code, 4) << end.errors;
  EXPECT_THAT(end.errors, AllOf(HasSubstr("results"), HasSubstr(fault.reason)));
  const std::string said = end.errors.substr(end.errors.find("results database"));

  trial.environment = sound;
  const std::size_t kept = expect_kept_and_resumed(trial, end);
  trial.record(fault.done, "exit code 4", said.substr(0, said.find('\n')),
               fmt::format("{} were stored before, 10 of 10 ok after --resume", kept));
}

INSTANTIATE_TEST_SUITE_P(
    Faults, Disk,
    ::testing::Values(
        DiskFault{"full_at_once", ENOSPC, 0, "the disk is full from the start", "the disk is full"},
        DiskFault{"full_as_tables_are_made", ENOSPC, 20'000,
                  "the disk is full as the database is made", "the disk is full"},
        DiskFault{"full_as_a_case_is_stored", ENOSPC, 300'000,
                  "the disk is full as a case is stored", "the disk is full"},
        DiskFault{"read_only_as_a_case_is_stored", EROFS, 300'000,
                  "the disk becomes read-only as a case is stored",
                  "it is on a read-only file system"},
        DiskFault{"broken_as_a_case_is_stored", EIO, 300'000, "the disk fails as a case is stored",
                  "reading or writing it failed (disk I/O error: Input/output error)"}),
    [](const auto& tested) { return tested.param.name; });

// A file system of 384 KiB, where this user may mount one.
TEST(FullDisk, ForReal) {
  if (::geteuid() != 0 || std::system("unshare -m true 2> /dev/null") != 0) {
    GTEST_SKIP() << "this user cannot mount a file system of its own";
  }
  Trial trial("Results");
  trial.folder().write("storage.yaml", ten_cases);
  // The file system ends with the process: its files are copied first.
  trial.folder().write(
      "small_disk.sh",
      "mkdir results && mount -t tmpfs -o size=384k none results || exit 99\n"
      "\"$@\"; code=$?\n"
      "cp -a results copy && umount -l results && rmdir results && mv copy results\n"
      "exit $code\n");
  Host::Command command = trial.command(run_it);
  command.ahead = {"unshare", "-m", "sh", "small_disk.sh"};
  Host host(command);
  const End end = host.wait();
  EXPECT_EQ(host.left_behind(), "");
  trial.saw(end);
  if (end.exit_code == 99) GTEST_SKIP() << "no file system can be mounted here: " << end.errors;
  EXPECT_EQ(end.exit_code, 4) << end.errors;
  EXPECT_THAT(end.errors, HasSubstr("the disk is full"));
  const std::string said = end.errors.substr(end.errors.find("results database"));
  const std::size_t kept = expect_kept_and_resumed(trial, end);
  EXPECT_GT(kept, 0u);
  trial.record("results on a file system of 384 KiB", "exit code 4",
               said.substr(0, said.find('\n')),
               fmt::format("{} were stored before, 10 of 10 ok after --resume", kept));
}

TEST(Database, IsWrittenByTwoRunsAtOnce) {
  Trial trial("Results");
  trial.folder().write("storage.yaml", ten_cases);
  Host one(trial.command(run_it)), two(trial.command(run_it));
  for (Host* host : {&one, &two}) {
    const End end = host->wait();
    trial.saw(end);
    EXPECT_EQ(end.exit_code, 0) << end.errors;
    EXPECT_EQ(host->left_behind(), "");
  }
  trial.expect_sound();
  EXPECT_THAT(trial.run_names(), UnorderedElementsAre("storage-1", "storage-2"));
  for (const char* name : {"storage-1", "storage-2"}) {
    EXPECT_EQ(trial.stored(name).cases.size(), 10u);
  }
  trial.record("two runs are started at once on one database", "exit code 0 of both",
               "they are storage-1 and storage-2", "20 of 20 ok");
}

// The tables of schema 1 as assay made them, with a run of one case.
constexpr const char* schema_1 = R"sql(
PRAGMA application_id = {};
CREATE TABLE runs (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, experiment TEXT NOT NULL,
  title TEXT NOT NULL, experiment_text TEXT NOT NULL, experiment_file TEXT NOT NULL,
  overrides TEXT NOT NULL, started TEXT NOT NULL, finished TEXT NOT NULL, machine TEXT NOT NULL,
  provenance TEXT NOT NULL);
CREATE INDEX runs_by_experiment ON runs (experiment, started);
CREATE TABLE cases (id INTEGER PRIMARY KEY,
  run_id INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE, ordinal INTEGER NOT NULL,
  key TEXT NOT NULL, key_text TEXT NOT NULL, parameters TEXT NOT NULL, build TEXT NOT NULL,
  outcome TEXT NOT NULL, reason TEXT NOT NULL, wall_s REAL, measured_at TEXT NOT NULL,
  context TEXT NOT NULL, UNIQUE (run_id, ordinal));
CREATE INDEX cases_by_key ON cases (key);
CREATE INDEX cases_by_key_text ON cases (key_text);
CREATE TABLE series (id INTEGER PRIMARY KEY,
  case_id INTEGER NOT NULL REFERENCES cases (id) ON DELETE CASCADE, position INTEGER NOT NULL,
  pass TEXT NOT NULL, metric TEXT NOT NULL, part TEXT NOT NULL, rank INTEGER NOT NULL,
  unit TEXT NOT NULL, outcome TEXT NOT NULL, reason TEXT NOT NULL, clock TEXT NOT NULL,
  samples BLOB NOT NULL, UNIQUE (case_id, position));
CREATE TABLE statistics (series_id INTEGER NOT NULL REFERENCES series (id) ON DELETE CASCADE,
  name TEXT NOT NULL, value REAL, PRIMARY KEY (series_id, name)) WITHOUT ROWID;
INSERT INTO runs VALUES (1, 'old-1', 'old', 'Old', 'experiment: old', 'old.yaml', '[]',
  '2026-01-31T12:00:00Z', '2026-01-31T12:01:00Z', '{{}}', '{{}}');
INSERT INTO cases VALUES (1, 1, 0, 'k', 'seq_len=1', '{{"seq_len":1}}', 'b', 'ok', '', 1.5,
  '2026-01-31T12:00:30Z', '{{}}');
INSERT INTO series VALUES (1, 1, 0, 'forward', 'time', '', 0, 's', 'ok', '', 'wall',
  x'000000000000E03F000000000000F03F');
PRAGMA user_version = {};
)sql";
constexpr int application_id = 0x61737379;  // "assy"

void write_schema_1(const Trial& trial, int version) {
  std::filesystem::create_directories(trial.database().parent_path());
  SQLite::Database file(trial.database().string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  file.exec(fmt::format(schema_1, application_id, version));
}

TEST(Database, OfAnOlderSchemaIsBroughtUpToDate) {
  Trial trial("Results");
  write_schema_1(trial, 1);
  trial.folder().write("storage.yaml", ten_cases);
  const End end = trial.run(run_it);
  EXPECT_EQ(end.exit_code, 0) << end.errors;
  trial.expect_sound();
  EXPECT_EQ(trial.stored("storage-1").cases.size(), 10u);
  const auto old = trial.stored("old-1");
  ASSERT_EQ(old.cases.size(), 1u);
  EXPECT_EQ(old.info.title, "Old");
  ASSERT_EQ(old.cases[0].series.size(), 1u);
  EXPECT_THAT(old.cases[0].series[0].samples, ::testing::ElementsAre(0.5, 1.0));
  trial.record("a run into a database of schema 1, the first there was", "exit code 0",
               "it is brought up to date; the run that was in it is read as before", "10 of 10 ok");
}

TEST(Database, OfANewerSchemaIsLeftAlone) {
  Trial trial("Results");
  write_schema_1(trial, 1000);
  trial.folder().write("storage.yaml", ten_cases);
  const std::string before = trial.folder().read("results/assay.db");
  const End end = trial.run(run_it);
  EXPECT_EQ(end.exit_code, 4) << end.output;
  EXPECT_THAT(end.errors, HasSubstr("its schema is version 1000"));
  EXPECT_EQ(trial.folder().read("results/assay.db"), before);
  trial.record("a run into a database of a newer schema", "exit code 4",
               end.errors.substr(0, end.errors.find('\n')), "nothing was run");
}

TEST(Database, ThatIsCutInHalfIsLeftAlone) {
  Trial trial("Results");
  trial.folder().write("storage.yaml", ten_cases);
  EXPECT_EQ(trial.run(run_it).exit_code, 0);
  const auto whole = std::filesystem::file_size(trial.database());
  std::filesystem::resize_file(trial.database(), whole / 2);
  trial.forget_reported();
  const std::string before = trial.folder().read("results/assay.db");
  const End end = trial.run({"run", "storage.yaml", "--resume"});
  EXPECT_EQ(end.exit_code, 4) << end.output;
  EXPECT_THAT(end.errors, HasSubstr("it is damaged"));
  EXPECT_EQ(trial.folder().read("results/assay.db"), before);
  trial.record("`--resume` of a run whose database has been cut in half", "exit code 4",
               end.errors.substr(0, end.errors.find('\n')), "nothing was run");
}

TEST(Clock, GoesBackwardsWhileARunIsOnItsWay) {
  Trial trial("Results");
  trial.folder().write("storage.yaml", ten_cases);
  const auto right = trial.environment;
  EXPECT_EQ(trial.run({"run", "storage.yaml", "--filter", "seq_len <= 2"}).exit_code, 0);
  trial.environment["LD_PRELOAD"] = test::fixture("faulty_system");
  trial.environment["FAULTY_CLOCK"] = "3600";
  const End end = trial.run({"run", "storage.yaml", "--filter", "seq_len <= 6"});
  EXPECT_EQ(end.exit_code, 0) << end.errors;
  const End resumed = trial.run({"run", "storage.yaml", "--resume", "--changed"});
  EXPECT_EQ(resumed.exit_code, 0) << resumed.errors;
  EXPECT_THAT(resumed.errors, HasSubstr("storage-2"))
      << "the run that was begun last, whatever the clock says";
  trial.environment = right;
  trial.expect_sound();
  const auto run = trial.stored("storage-2");
  EXPECT_EQ(run.cases.size(), 10u);
  for (const auto& result : run.cases) {
    EXPECT_EQ(result.outcome, Outcome::ok) << result.reason;
    EXPECT_GE(result.wall_s, 0);
    for (const auto& series : result.series) {
      for (const double sample : series.samples) EXPECT_GE(sample, 0) << series.metric;
    }
  }
  trial.record("the time of day goes back by an hour at each look, in a run and in its resume",
               "exit code 0", "no time is negative; `--resume` takes the run that was begun last",
               "10 of 10 ok");
}

}  // namespace
}  // namespace assay::faults
