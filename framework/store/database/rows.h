#pragma once

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "store/database/artefact_rows.h"
#include "store/records/records.h"

// Records to rows and back. Everything here throws SQLite::Exception, and DamagedRow for a row at
// odds with the schema; callers hold the transaction.
namespace assay::store {

// The columns of read_run, the row's id first.
inline constexpr std::string_view select_runs =
    "SELECT id, name, experiment, title, experiment_text, experiment_file, overrides, started, "
    "finished, machine, provenance, sessions, builds FROM runs";

inline constexpr std::string_view newest_first = " ORDER BY order_time DESC, id DESC";

RunInfo read_run(SQLite::Statement& row);

inline constexpr std::size_t longest_run_name = 200;  // bytes

// A run's name becomes a folder beside the database.
bool is_run_name(const std::string& name);
// As is_run_name, of a stored name: earlier versions numbered names beyond longest_run_name.
std::string name_in(const SQLite::Column& column);
nlohmann::json json_in(const SQLite::Column& column);
Outcome stored_outcome(const std::string& text);

// A run that begins now is newer than all others; an imported one is as old as it says.
enum class RunOrigin { begun, imported };

// Returns the row's id.
std::int64_t insert_run(SQLite::Database& database, const RunInfo& info, RunOrigin origin);
void update_run(SQLite::Database& database, std::int64_t run_id, const std::string& column,
                const std::string& text);

void arrange(SQLite::Database& database, std::int64_t run_id,
             const std::map<std::string, std::int64_t>& places);

// By run id, without outcomes that no assay wrote.
std::map<std::int64_t, std::map<Outcome, int>> count_outcomes(SQLite::Database& database);

class CaseWriter {
 public:
  explicit CaseWriter(SQLite::Database& database);

  // Needs an ordinal that is free in the run.
  void add(std::int64_t run_id, const CaseResult& result);
  // As Database::record_case.
  void replace(std::int64_t run_id, const CaseResult& result);

 private:
  void write(std::int64_t run_id, std::int64_t ordinal, const CaseResult& result);
  std::int64_t free_ordinal(std::int64_t run_id, std::int64_t wanted);
  void write_series(std::int64_t case_id, std::int64_t position, const Series& series);

  SQLite::Database& database_;
  SQLite::Statement remove_case_;
  SQLite::Statement find_ordinal_;
  SQLite::Statement insert_case_;
  SQLite::Statement insert_series_;
  SQLite::Statement insert_statistic_;
  ArtefactWriter artefacts_;
};

}  // namespace assay::store
