// Databases of earlier versions of assay.

#include <SQLiteCpp/Database.h>
#include <gtest/gtest.h>

#include "sample_run.h"
#include "store/database/database.h"
#include "temporary_folder.h"

namespace assay::store {
namespace {

// One run, from before runs had sessions.
constexpr const char* version_1 = R"sql(
CREATE TABLE runs (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  experiment TEXT NOT NULL,
  title TEXT NOT NULL,
  experiment_text TEXT NOT NULL,
  experiment_file TEXT NOT NULL,
  overrides TEXT NOT NULL,
  started TEXT NOT NULL,
  finished TEXT NOT NULL,
  machine TEXT NOT NULL,
  provenance TEXT NOT NULL
);
CREATE INDEX runs_by_experiment ON runs (experiment, started);

CREATE TABLE cases (
  id INTEGER PRIMARY KEY,
  run_id INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  ordinal INTEGER NOT NULL,
  key TEXT NOT NULL,
  key_text TEXT NOT NULL,
  parameters TEXT NOT NULL,
  build TEXT NOT NULL,
  outcome TEXT NOT NULL,
  reason TEXT NOT NULL,
  wall_s REAL,
  measured_at TEXT NOT NULL,
  context TEXT NOT NULL,
  UNIQUE (run_id, ordinal)
);
CREATE INDEX cases_by_key ON cases (key);
CREATE INDEX cases_by_key_text ON cases (key_text);

CREATE TABLE series (
  id INTEGER PRIMARY KEY,
  case_id INTEGER NOT NULL REFERENCES cases (id) ON DELETE CASCADE,
  position INTEGER NOT NULL,
  pass TEXT NOT NULL,
  metric TEXT NOT NULL,
  part TEXT NOT NULL,
  rank INTEGER NOT NULL,
  unit TEXT NOT NULL,
  outcome TEXT NOT NULL,
  reason TEXT NOT NULL,
  clock TEXT NOT NULL,
  samples BLOB NOT NULL,
  UNIQUE (case_id, position)
);

CREATE TABLE statistics (
  series_id INTEGER NOT NULL REFERENCES series (id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  value REAL,
  PRIMARY KEY (series_id, name)
) WITHOUT ROWID;

INSERT INTO runs VALUES (1, 'old-1', 'old', 'An old run', 'experiment: old', 'old.yaml',
  '["--set seq_len=[128]"]', '2025-05-01T10:00:00Z', '2025-05-01T11:00:00Z', '{"host":"lab1"}',
  '{"fingerprint":"then"}');
INSERT INTO cases VALUES (1, 1, 0, 'k', 'seq_len=128', '{"seq_len":128}', 'b1', 'ok', '', 1.5,
  '2025-05-01T10:30:00Z', '{"passes":["forward"]}');
INSERT INTO series VALUES (1, 1, 0, 'forward', 'time', '', 0, 's', 'ok', '', 'wall',
  x'000000000000F03F');
PRAGMA application_id = 1634956153;
PRAGMA user_version = 1;
)sql";

class OldSchema : public testing::TemporaryFolder {
 protected:
  std::filesystem::path old_database(const char* mode) const {
    SQLite::Database raw(file("assay.db").string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    raw.execAndGet(std::string("PRAGMA journal_mode = ") + mode);
    raw.exec(version_1);
    return file("assay.db");
  }

  static void expect_the_old_run(Database& database) {
    const auto run = database.load_run("old-1");
    ASSERT_TRUE(run) << run.error().text();
    EXPECT_EQ(run->info.title, "An old run");
    EXPECT_EQ(run->info.first.overrides, std::vector<std::string>{"--set seq_len=[128]"});
    EXPECT_EQ(run->info.first.machine["host"], "lab1");
    EXPECT_TRUE(run->info.sessions.empty());
    ASSERT_EQ(run->cases.size(), 1u);
    EXPECT_EQ(run->cases[0].session, 0);
    EXPECT_EQ(run->cases[0].series.at(0).samples, std::vector<double>{1.0});
    EXPECT_EQ(run->cases[0].series.at(0).lane, "");
    EXPECT_TRUE(run->cases[0].series.at(0).words.empty());
    EXPECT_TRUE(run->cases[0].artefacts.empty());
  }
};

TEST_F(OldSchema, IsReadWithoutBeingChanged) {
  for (const char* mode : {"DELETE", "WAL"}) {
    std::filesystem::remove(file("assay.db"));
    const auto path = old_database(mode);
    const std::string before = content(path);
    {
      auto database = Database::open(path, Access::read_only);
      ASSERT_TRUE(database) << database.error().text();
      expect_the_old_run(*database);
      EXPECT_EQ(database->latest_run().value(), "old-1");
      EXPECT_FALSE(database->finish_run("old-1", "")) << "written to a copy that nobody keeps";
    }
    EXPECT_EQ(content(path), before) << mode;
  }
}

TEST_F(OldSchema, IsBroughtUpToDateByWhatWrites) {
  const auto path = old_database("WAL");
  auto database = Database::open(path, Access::read_write);
  ASSERT_TRUE(database) << database.error().text();
  expect_the_old_run(*database);
  RunInfo info;
  info.experiment = "old";
  info.started = "2024-01-01T00:00:00Z";
  EXPECT_EQ(database->begin_numbered_run(info).value(), "old-2");
  EXPECT_EQ(database->latest_run().value(), "old-2");
  ASSERT_TRUE(database->record_case("old-1", testing::sample_case(1)));
  EXPECT_EQ(database->load_run("old-1").value().cases.size(), 2u);
}

}  // namespace
}  // namespace assay::store
