#pragma once

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "store/records.h"

// Records to rows and back. Everything here throws SQLite::Exception, and DamagedRow for a row that
// does not hold what the schema says; callers hold the transaction.
namespace assay::store {

// The columns that read_run reads; the first is the row's id.
inline constexpr std::string_view select_runs =
    "SELECT id, name, experiment, title, experiment_text, experiment_file, overrides, started, "
    "finished, machine, provenance FROM runs";

RunInfo read_run(SQLite::Statement& row);

// Returns the row's id.
std::int64_t insert_run(SQLite::Database& database, const RunInfo& info);

// By run id.
std::map<std::int64_t, std::map<Outcome, int>> count_outcomes(SQLite::Database& database);

// By ordinal, each with its series in the order they were recorded.
std::vector<CaseResult> read_cases(SQLite::Database& database, std::int64_t run_id);

// Writes any number of cases with statements prepared once.
class CaseWriter {
 public:
  explicit CaseWriter(SQLite::Database& database);

  // Replaces the run's case of the same ordinal.
  void write(std::int64_t run_id, const CaseResult& result);

 private:
  void write_series(std::int64_t case_id, std::int64_t position, const Series& series);

  SQLite::Database& database_;
  SQLite::Statement remove_case_;
  SQLite::Statement insert_case_;
  SQLite::Statement insert_series_;
  SQLite::Statement insert_statistic_;
};

}  // namespace assay::store
