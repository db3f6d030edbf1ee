#pragma once

#include <assay/outcome.h>

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "store/records.h"

namespace assay::store {

enum class Access { read_write, read_only };

struct RunSummary {
  RunInfo info;
  std::map<Outcome, int> outcomes;  // cases by their outcome; those not recorded are not counted
};

class Connection;

// The results of every run, in one SQLite file. Every method that writes is one transaction: a
// process killed inside it leaves the file as it was before. Several processes may use one file at
// once; a writer waits up to 30 s for another. One object is for one thread at a time.
//
// Errors: ExitCode::results_unreadable when the file cannot be read or written (not a database, of
// another program, of a newer schema, damaged, read-only, disk full, locked for too long), which
// never changes the file; ExitCode::bad_input for a run name that is unknown, taken or not fit
// to be a folder's name.
class Database {
 public:
  // read_write makes the folder and the file when they are missing and migrates an older schema.
  static Result<Database> open(const std::filesystem::path& path, Access access);

  Database(Database&&) noexcept;
  Database& operator=(Database&&) noexcept;
  ~Database();

  // An error if the name is taken.
  Result<void> begin_run(const RunInfo& info);
  // Gives the run the next free name, "<experiment>-1", "<experiment>-2", …, in the transaction
  // that inserts it. `info.name` is not looked at.
  Result<std::string> begin_numbered_run(RunInfo info);
  // The name begin_numbered_run would give now; another process may take it meanwhile.
  Result<std::string> unused_run_name(const std::string& experiment);

  // Replaces what the run has under the same ordinal.
  Result<void> record_case(const std::string& run, const CaseResult& result);
  // `finished`: ISO 8601, UTC; "" opens the run again.
  Result<void> finish_run(const std::string& run, const std::string& finished);

  // A run with all its cases, such as an imported one, in one transaction. It keeps its name where
  // that is free, otherwise, or if it has none, it is numbered as by begin_numbered_run. Returns
  // the name.
  Result<std::string> add_run(const Run& run);

  // Newest first by the time they started.
  Result<std::vector<RunSummary>> runs();
  Result<RunInfo> run_info(const std::string& name);
  Result<Run> load_run(const std::string& name);
  // The newest run, or the newest of an experiment; nullopt when there is none.
  Result<std::optional<std::string>> latest_run(const std::optional<std::string>& experiment = {});

  // (key, build) of every case the run has, whatever its outcome.
  Result<std::set<std::pair<std::string, std::string>>> finished_cases(const std::string& run);

 private:
  explicit Database(std::unique_ptr<Connection> connection);

  std::unique_ptr<Connection> connection_;
};

}  // namespace assay::store
