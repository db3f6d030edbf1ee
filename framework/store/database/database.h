#pragma once

// store/database keeps runs in SQLite and opens older files too. It depends on store/records; it
// alone uses SQLite. Start here.

#include <assay/outcome.h>

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "store/database/run_claim.h"
#include "store/records/records.h"

namespace assay::store {

enum class Access { read_write, read_only };

// A row of a run that no assay wrote. The other runs stay usable.
struct DamagedRun {
  std::string name;  // as it is stored
  std::string why;
};

struct RunSummary {
  RunInfo info;
  std::map<Outcome, int> outcomes;  // counts of the recorded cases
};

// What `assay run --resume` needs to know of a result.
struct RecordedCase {
  std::int64_t ordinal = 0;
  std::string build;
  Outcome outcome = Outcome::ok;
  std::optional<std::vector<std::string>> passes;  // planned ones; nullopt: unknown
  std::set<Outcome> of_passes;
};

class CaseDigests;
class CaseWriter;
class Connection;

// The results of all runs, in one SQLite file. Every writing method is one transaction: a process
// killed inside it leaves the file unchanged. After a power cut, cases recorded less than a second
// after another may be missing; the file stays whole. Several processes may use one file at once; a
// writer waits up to 30 s for another. One object serves one thread at a time.
//
// Errors: ExitCode::results_unreadable, and an unchanged file, when it cannot be read or written
// (not a database, of another program, of a newer schema, damaged, read-only, disk full, locked for
// too long, removed meanwhile); ExitCode::bad_input for a run name that is unknown, taken or
// invalid as a folder name.
class Database {
 public:
  // read_write creates a missing folder and file and migrates an older schema; read_only reads an
  // older schema through a copy in memory.
  static Result<Database> open(const std::filesystem::path& path, Access access);

  Database(Database&&) noexcept;
  Database& operator=(Database&&) noexcept;
  ~Database();

  // Refuses a name whose folder beside the database holds something, such as the report of a run
  // that was removed; numbers pass over it.
  Result<void> begin_run(const RunInfo& info);
  // Replaces `info.name` by the next free name, "<experiment>-1", "<experiment>-2", …; a long
  // experiment's name is cut so that the number fits.
  Result<std::string> begin_numbered_run(RunInfo info);
  // The name begin_numbered_run would give now; another process may take it meanwhile.
  Result<std::string> unused_run_name(const std::string& experiment);

  // The right to add cases to a run: ExitCode::bad_input while another process has it.
  Result<RunClaim> claim_run(const std::string& run);
  // Opens a run again. Returns the CaseResult::session of its next cases: that of an equal session,
  // else a new one.
  Result<int> continue_run(const std::string& run, const Session& session);
  // Describes a CaseResult::build of the run; a known one stays.
  Result<void> describe_build(const std::string& run, const std::string& build,
                              const nlohmann::json& description);
  // Replaces the run's case of the same key; takes the next free ordinal where its own is taken.
  Result<void> record_case(const std::string& run, const CaseResult& result);
  // Gives cases the ordinals of `places`, by key; the others follow in their order.
  Result<void> arrange_cases(const std::string& run,
                             const std::map<std::string, std::int64_t>& places);
  // The keys of the cases that this object has recorded in the run and somebody else has changed or
  // removed since.
  Result<std::vector<std::string>> changed_cases(const std::string& run);
  // `finished`: ISO 8601, UTC; "" opens the run again.
  Result<void> finish_run(const std::string& run, const std::string& finished);

  // Removes the run with its cases. Returns the files that they have left, relative to the folder
  // of the run, which is the caller's to remove.
  Result<std::vector<std::string>> remove_run(const std::string& run);

  // Adds a run with its cases in one transaction and returns its name: its own where that is free,
  // else a numbered one as from begin_numbered_run.
  Result<std::string> add_run(const Run& run);

  // Newest first, without damaged ones. A run begun here is newer than all earlier ones, whatever
  // the clock said.
  Result<std::vector<RunSummary>> runs();
  Result<std::vector<DamagedRun>> damaged_runs();
  Result<RunInfo> run_info(const std::string& name);
  Result<Run> load_run(const std::string& name);
  // The newest run that is not damaged, of the experiment where one is named; nullopt when there
  // is none.
  Result<std::optional<std::string>> latest_run(const std::optional<std::string>& experiment = {});

  Result<std::map<std::string, RecordedCase>> recorded_cases(const std::string& run);
  // CaseResult::wall_s of each of these keys in the newest run that has it, in s; without cases
  // that nobody measured or that were skipped.
  Result<std::map<std::string, double>> wall_times(const std::vector<std::string>& keys);

 private:
  explicit Database(std::unique_ptr<Connection> connection);

  std::filesystem::path results_folder() const;

  // Runs `body(database)` as one transaction.
  template <class Body>
  auto write(const Body& body);
  // Runs `body(database, id of the run's row)` as one transaction.
  template <class Body>
  Result<void> write_to_run(const std::string& run, const Body& body);

  std::unique_ptr<Connection> connection_;
  std::unique_ptr<CaseWriter> case_writer_;  // its statements live in the connection
  std::unique_ptr<CaseDigests> digests_;     // of the cases recorded so far; null before
};

}  // namespace assay::store
