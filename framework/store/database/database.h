#pragma once

// store/database keeps runs in SQLite and opens older files too. It depends on store/records, and
// no other room sees SQLite. Start here.

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

struct RunSummary {
  RunInfo info;
  std::map<Outcome, int> outcomes;  // cases by their outcome; those not recorded are not counted
};

// A result that a run has, as far as `assay run --resume` asks.
struct RecordedCase {
  std::int64_t ordinal = 0;
  std::string build;
  Outcome outcome = Outcome::ok;
  std::optional<std::vector<std::string>> passes;  // that were to be measured; nullopt: not known
  std::set<Outcome> of_passes;                     // what each of them came to
};

class Connection;

// The results of every run, in one SQLite file. Every method that writes is one transaction: a
// process killed inside it leaves the file as it was before, and one killed behind it leaves what
// was written. Should the machine itself stop, cases that were recorded less than a second after
// another may be missing; the file is whole. Several processes may use one file at once; a writer
// waits up to 30 s for another. One object is for one thread at a time.
//
// Errors: ExitCode::results_unreadable when the file cannot be read or written (not a database, of
// another program, of a newer schema, damaged, read-only, disk full, locked for too long, removed
// meanwhile), which never changes the file; ExitCode::bad_input for a run name that is unknown,
// taken or not fit to be a folder's name.
class Database {
 public:
  // read_write makes the folder and the file when they are missing and migrates an older schema;
  // read_only reads one through a copy in memory.
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

  // Held by who adds cases to a run: ExitCode::bad_input where another process does.
  Result<RunClaim> claim_run(const std::string& run);
  // Opens a run again. Returns what its next cases have as CaseResult::session: the number of the
  // session that is the same in everything, if there was one, else a new one.
  Result<int> continue_run(const std::string& run, const Session& session);
  // What is behind a CaseResult::build of the run, unless that is known.
  Result<void> describe_build(const std::string& run, const std::string& build,
                              const nlohmann::json& description);
  // Replaces what the run has under the same key, and nothing else: where another case has its
  // ordinal, it gets the next free one.
  Result<void> record_case(const std::string& run, const CaseResult& result);
  // Gives the run's cases the ordinals that `places` names by key; any others follow in their
  // order.
  Result<void> arrange_cases(const std::string& run,
                             const std::map<std::string, std::int64_t>& places);
  // `finished`: ISO 8601, UTC; "" opens the run again.
  Result<void> finish_run(const std::string& run, const std::string& finished);

  // A run with all its cases, such as an imported one, in one transaction. It keeps its name where
  // that is free, otherwise, or if it has none, it is numbered as by begin_numbered_run. Returns
  // the name.
  Result<std::string> add_run(const Run& run);

  // Newest first by the time they started. A run that was begun here is newer than all that were
  // there by then, whatever the clock said.
  Result<std::vector<RunSummary>> runs();
  Result<RunInfo> run_info(const std::string& name);
  Result<Run> load_run(const std::string& name);
  // The newest run, or the newest of an experiment; nullopt when there is none.
  Result<std::optional<std::string>> latest_run(const std::optional<std::string>& experiment = {});

  // Every case the run has, by its key.
  Result<std::map<std::string, RecordedCase>> recorded_cases(const std::string& run);

 private:
  explicit Database(std::unique_ptr<Connection> connection);

  // `body`, given the SQLite database, as one transaction.
  template <class Body>
  auto write(const Body& body);
  // The same of a run, whose row's id the body is given too.
  template <class Body>
  Result<void> write_to_run(const std::string& run, const Body& body);

  std::unique_ptr<Connection> connection_;
};

}  // namespace assay::store
