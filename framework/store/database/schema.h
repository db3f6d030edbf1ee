#pragma once

#include <SQLiteCpp/Database.h>

#include <span>
#include <string_view>

namespace assay::store {

// "assy" in ASCII: `PRAGMA application_id` of a results database.
inline constexpr int application_id = 0x61737379;

// Brings a database from `version` − 1 to `version`.
struct MigrationStep {
  int version;
  const char* sql;
  void (*then)(SQLite::Database&) = nullptr;  // what SQL cannot say
};

// In order, without gaps, from version 1. Steps stay forever: databases of every version exist.
std::span<const MigrationStep> migration_steps();

int newest_schema_version();

// Runs the missing steps in one transaction. Throws SQLite::Exception and then changes nothing.
void migrate(SQLite::Database& database, std::span<const MigrationStep> steps);

}  // namespace assay::store
