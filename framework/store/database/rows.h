#pragma once

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "store/records/records.h"

// Records to rows and back. Everything here throws SQLite::Exception, and DamagedRow for a row that
// does not hold what the schema says; callers hold the transaction.
namespace assay::store {

// The columns that read_run reads; the first is the row's id.
inline constexpr std::string_view select_runs =
    "SELECT id, name, experiment, title, experiment_text, experiment_file, overrides, started, "
    "finished, machine, provenance, sessions, builds FROM runs";

// The order of runs, the newest first.
inline constexpr std::string_view newest_first = " ORDER BY order_time DESC, id DESC";

RunInfo read_run(SQLite::Statement& row);

inline constexpr std::size_t longest_run_name = 200;

// Run names become folders beside the database, and imported ones come from elsewhere.
bool is_run_name(const std::string& name);
// A name that is none, in a file that somebody else has written, is a DamagedRow.
std::string name_in(const SQLite::Column& column);

// Whether a run begins now, and is newer than all there are, or was made elsewhere.
enum class RunOrigin { begun, imported };

// Returns the row's id.
std::int64_t insert_run(SQLite::Database& database, const RunInfo& info, RunOrigin origin);

void update_sessions(SQLite::Database& database, std::int64_t run_id,
                     const std::vector<Session>& sessions);
// Gives cases the ordinals that `places` names by key; the others follow in their order.
void arrange(SQLite::Database& database, std::int64_t run_id,
             const std::map<std::string, std::int64_t>& places);

void update_builds(SQLite::Database& database, std::int64_t run_id,
                   const std::map<std::string, nlohmann::json>& builds);

// By run id.
std::map<std::int64_t, std::map<Outcome, int>> count_outcomes(SQLite::Database& database);

// By ordinal, each with its series in the order they were recorded.
std::vector<CaseResult> read_cases(SQLite::Database& database, std::int64_t run_id);

// Writes any number of cases with statements prepared once.
class CaseWriter {
 public:
  explicit CaseWriter(SQLite::Database& database);

  // Of an ordinal that the run does not have yet.
  void add(std::int64_t run_id, const CaseResult& result);
  // Instead of the run's case with the same key, if it has one. Its ordinal is the result's where
  // no other case has that, otherwise the next free one.
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
};

}  // namespace assay::store
