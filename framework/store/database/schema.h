#pragma once

#include <SQLiteCpp/Database.h>

#include <span>
#include <string_view>

namespace assay::store {

// "assy" in ASCII: `PRAGMA application_id` of a results database.
inline constexpr int application_id = 0x61737379;

// What brings a database from `version` − 1 to `version`.
struct MigrationStep {
  int version;
  const char* sql;
};

// In order, without gaps, from version 1. Steps are only ever added: databases of every earlier
// version exist.
std::span<const MigrationStep> migration_steps();

// The version of the last step.
int newest_schema_version();

// Runs the steps the database has not had yet and sets `PRAGMA user_version`, all in one
// transaction. Throws SQLite::Exception and then leaves the database as it was.
void migrate(SQLite::Database& database, std::span<const MigrationStep> steps);

}  // namespace assay::store
