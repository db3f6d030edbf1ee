#include "store/database/schema.h"

#include <SQLiteCpp/Transaction.h>
#include <fmt/format.h>

#include <array>

#include "store/database/rename_step.h"
#include "store/records/records.h"

namespace assay::store {
namespace {

// JSON columns hold the forms of store/records/json.h. `samples` is float64, little-endian, in the
// order taken: one blob per series reads about ten times faster than one row per sample. A NULL in
// a REAL column is NaN, which SQLite cannot store.
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
)sql";

// `order_time` orders the runs. It is `started`, and of a run begun here at least the latest one in
// the file, so that a clock set back changes no order.
constexpr const char* version_2 = R"sql(
ALTER TABLE runs ADD COLUMN order_time TEXT NOT NULL DEFAULT '';
UPDATE runs SET order_time = started;
ALTER TABLE runs ADD COLUMN sessions TEXT NOT NULL DEFAULT '[]';
ALTER TABLE runs ADD COLUMN builds TEXT NOT NULL DEFAULT '{}';
ALTER TABLE cases ADD COLUMN session INTEGER NOT NULL DEFAULT 0;
)sql";

// `words`: a JSON list of texts, or '' for a series without.
constexpr const char* version_3 = R"sql(
ALTER TABLE series ADD COLUMN lane TEXT NOT NULL DEFAULT '';
ALTER TABLE series ADD COLUMN words TEXT NOT NULL DEFAULT '';
CREATE TABLE artefacts (
  case_id INTEGER NOT NULL REFERENCES cases (id) ON DELETE CASCADE,
  position INTEGER NOT NULL,
  pass TEXT NOT NULL,
  rank INTEGER NOT NULL,
  name TEXT NOT NULL,
  file TEXT NOT NULL,
  media_type TEXT NOT NULL,
  bytes INTEGER NOT NULL,
  sha256 TEXT NOT NULL,
  PRIMARY KEY (case_id, position)
) WITHOUT ROWID;
)sql";

// `checksum`: CRC-32 of `samples` and of the stored statistics; NULL for series of earlier
// versions.
constexpr const char* version_4 = R"sql(
ALTER TABLE series ADD COLUMN checksum INTEGER;
)sql";

// Today's names of variants.
constexpr const char* version_5 = "";

constexpr std::array<MigrationStep, 5> steps_so_far{{{1, version_1},
                                                     {2, version_2},
                                                     {3, version_3},
                                                     {4, version_4},
                                                     {5, version_5, rename_variants}}};
static_assert(steps_so_far.back().version == schema_version);

}  // namespace

std::span<const MigrationStep> migration_steps() { return steps_so_far; }

int newest_schema_version() { return steps_so_far.back().version; }

void migrate(SQLite::Database& database, std::span<const MigrationStep> steps) {
  SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
  // Read inside the transaction: another process may have migrated meanwhile.
  const int version = database.execAndGet("PRAGMA user_version").getInt();
  for (const MigrationStep& step : steps) {
    if (step.version <= version) continue;
    database.exec(step.sql);
    if (step.then != nullptr) step.then(database);
    database.exec(fmt::format("PRAGMA user_version = {}", step.version));
  }
  database.exec(fmt::format("PRAGMA application_id = {}", application_id));
  transaction.commit();
}

}  // namespace assay::store
