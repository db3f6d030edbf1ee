#include "store/database/database.h"

#include <SQLiteCpp/Statement.h>
#include <SQLiteCpp/Transaction.h>
#include <fmt/format.h>

#include "base/text.h"
#include "store/database/case_digests.h"
#include "store/database/connection.h"
#include "store/database/read_cases.h"
#include "store/database/rows.h"
#include "store/database/run_names.h"
#include "store/records/artefacts.h"
#include "store/records/identity.h"
#include "store/records/json.h"

namespace assay::store {
namespace {

namespace fs = std::filesystem;

constexpr auto immediate = SQLite::TransactionBehavior::IMMEDIATE;

// `list`: "ok,oom".
std::set<Outcome> outcomes_in(const std::string& list) {
  std::set<Outcome> outcomes;
  if (list.empty()) return outcomes;
  for (const std::string& word : split(list, ',')) outcomes.insert(stored_outcome(word));
  return outcomes;
}

}  // namespace

Database::Database(std::unique_ptr<Connection> connection) : connection_(std::move(connection)) {}
Database::Database(Database&&) noexcept = default;
Database& Database::operator=(Database&& other) noexcept {
  case_writer_.reset();
  connection_ = std::move(other.connection_);
  case_writer_ = std::move(other.case_writer_);
  digests_ = std::move(other.digests_);
  return *this;
}
Database::~Database() = default;

fs::path Database::results_folder() const { return fs::path(connection_->path()).parent_path(); }

Result<Database> Database::open(const std::filesystem::path& path, Access access) {
  Result<std::unique_ptr<Connection>> connection = Connection::open(path, access);
  if (!connection) return tl::unexpected(std::move(connection.error()));
  return Database(std::move(*connection));
}

template <class Body>
auto Database::write(const Body& body) {
  using Done = std::invoke_result_t<Body, SQLite::Database&>;
  return guarded(*connection_, [&]() -> Done {
    connection_->check_in_place();
    SQLite::Transaction transaction(connection_->database(), immediate);
    Done done = body(connection_->database());
    if (done) transaction.commit();
    return done;
  });
}

template <class Body>
Result<void> Database::write_to_run(const std::string& run, const Body& body) {
  return write([&](SQLite::Database& database) -> Result<void> {
    const std::optional<std::int64_t> run_id = find_run(database, run);
    if (!run_id) return unknown_run(database, run);
    return body(database, *run_id);
  });
}

Result<void> Database::begin_run(const RunInfo& info) {
  if (auto named = check_run_name(info.name); !named) return named;
  return write([&](SQLite::Database& database) -> Result<void> {
    if (find_run(database, info.name)) {
      return fail(ExitCode::bad_input, fmt::format("there is already a run '{}'", info.name),
                  "leave out the name to get the next number");
    }
    if (is_left_folder(results_folder(), info.name)) {
      return fail(ExitCode::bad_input,
                  fmt::format("there is already a folder {}, of a run that this database does not "
                              "have",
                              (results_folder() / info.name).string()),
                  "move it away, or leave out the name to get the next number");
    }
    insert_run(database, info, RunOrigin::begun);
    return {};
  });
}

Result<std::string> Database::begin_numbered_run(RunInfo info) {
  const auto named = check_run_name(numbered_stem(info.experiment));
  if (!named) return tl::unexpected(named.error());
  return write([&](SQLite::Database& database) -> Result<std::string> {
    info.name = next_name(database, results_folder(), info.experiment);
    insert_run(database, info, RunOrigin::begun);
    return info.name;
  });
}

Result<std::string> Database::unused_run_name(const std::string& experiment) {
  return guarded(*connection_, [&]() -> Result<std::string> {
    return next_name(connection_->database(), results_folder(), experiment);
  });
}

Result<RunClaim> Database::claim_run(const std::string& run) {
  return guarded(*connection_, [&]() -> Result<RunClaim> {
    const std::optional<std::int64_t> run_id = find_run(connection_->database(), run);
    if (!run_id) return unknown_run(connection_->database(), run);
    return RunClaim::take(connection_->path(), *run_id, run);
  });
}

Result<int> Database::continue_run(const std::string& run, const Session& session) {
  int number = 0;
  const auto written =
      write_to_run(run, [&](SQLite::Database& database, std::int64_t run_id) -> Result<void> {
        Result<RunInfo> info = run_info(run);
        if (!info) return tl::unexpected(std::move(info.error()));
        const int known = static_cast<int>(info->sessions.size());
        while (number <= known && !(session_of(*info, number) == session)) ++number;
        if (number > known) {
          info->sessions.push_back(session);
          update_run(database, run_id, "sessions", dump(to_json(*info).at("sessions")));
        }
        update_run(database, run_id, "finished", "");
        return {};
      });
  if (!written) return tl::unexpected(written.error());
  return number;
}

Result<void> Database::describe_build(const std::string& run, const std::string& build,
                                      const nlohmann::json& description) {
  return write_to_run(run, [&](SQLite::Database& database, std::int64_t run_id) -> Result<void> {
    Result<RunInfo> info = run_info(run);
    if (!info) return tl::unexpected(std::move(info.error()));
    if (info->builds.try_emplace(build, description).second) {
      update_run(database, run_id, "builds", dump(info->builds));
    }
    return {};
  });
}

Result<void> Database::record_case(const std::string& run, const CaseResult& result) {
  std::unique_ptr<CaseWriter> writer = std::move(case_writer_);
  auto recorded =
      write_to_run(run, [&](SQLite::Database& database, std::int64_t run_id) -> Result<void> {
        if (writer == nullptr) writer = std::make_unique<CaseWriter>(database);
        writer->replace(run_id, result);
        if (digests_ == nullptr) digests_ = std::make_unique<CaseDigests>(database);
        digests_->note(database, run_id, result.key);
        return {};
      });
  // After a failure the next case prepares its statements anew.
  if (recorded) case_writer_ = std::move(writer);
  return recorded;
}

Result<void> Database::arrange_cases(const std::string& run,
                                     const std::map<std::string, std::int64_t>& places) {
  return write_to_run(run, [&](SQLite::Database& database, std::int64_t run_id) -> Result<void> {
    arrange(database, run_id, places);
    return {};
  });
}

Result<std::vector<std::string>> Database::changed_cases(const std::string& run) {
  using Keys = std::vector<std::string>;
  return guarded(*connection_, [&]() -> Result<Keys> {
    SQLite::Database& database = connection_->database();
    SQLite::Transaction transaction(database);
    const std::optional<std::int64_t> run_id = find_run(database, run);
    if (!run_id) return unknown_run(database, run);
    return digests_ == nullptr ? Keys() : digests_->changed(database, *run_id);
  });
}

Result<void> Database::finish_run(const std::string& run, const std::string& finished) {
  return write_to_run(run, [&](SQLite::Database& database, std::int64_t run_id) -> Result<void> {
    update_run(database, run_id, "finished", finished);
    return {};
  });
}

Result<std::vector<std::string>> Database::remove_run(const std::string& run) {
  std::vector<std::string> files;
  const auto removed =
      write_to_run(run, [&](SQLite::Database& database, std::int64_t run_id) -> Result<void> {
        SQLite::Statement rows(database,
                               "SELECT file FROM artefacts JOIN cases ON cases.id = case_id "
                               "WHERE run_id = ? ORDER BY ordinal, position");
        rows.bind(1, run_id);
        while (rows.executeStep()) {
          std::string file = rows.getColumn(0).getString();
          if (is_artefact_file(file)) files.push_back(std::move(file));
        }
        SQLite::Statement remove(database, "DELETE FROM runs WHERE id = ?");
        remove.bind(1, run_id);
        remove.exec();
        return {};
      });
  if (!removed) return tl::unexpected(removed.error());
  return files;
}

Result<std::string> Database::add_run(const Run& run) {
  RunInfo info = run.info;
  const std::string wanted = info.name.empty() ? numbered_stem(info.experiment) : info.name;
  if (const auto named = check_run_name(wanted); !named) return tl::unexpected(named.error());
  return write([&](SQLite::Database& database) -> Result<std::string> {
    if (info.name.empty() || find_run(database, info.name) ||
        is_left_folder(results_folder(), info.name)) {
      const auto named = check_run_name(numbered_stem(info.experiment));
      if (!named) return tl::unexpected(named.error());
      info.name = next_name(database, results_folder(), info.experiment);
    }
    const std::int64_t run_id = insert_run(database, info, RunOrigin::imported);
    CaseWriter writer(database);
    for (const CaseResult& result : run.cases) writer.add(run_id, result);
    return info.name;
  });
}

Result<std::vector<RunSummary>> Database::runs() {
  return guarded(*connection_, [&]() -> Result<std::vector<RunSummary>> {
    SQLite::Database& database = connection_->database();
    SQLite::Transaction transaction(database);
    std::map<std::int64_t, std::map<Outcome, int>> outcomes = count_outcomes(database);
    std::vector<RunSummary> summaries;
    SQLite::Statement rows(database, std::string(select_runs) + std::string(newest_first));
    while (rows.executeStep()) {
      try {
        summaries.push_back({read_run(rows), std::move(outcomes[rows.getColumn(0).getInt64()])});
      } catch (const DamagedRow&) {
        continue;  // damaged_runs() tells of it
      }
    }
    return summaries;
  });
}

Result<std::vector<DamagedRun>> Database::damaged_runs() {
  return guarded(*connection_, [&]() -> Result<std::vector<DamagedRun>> {
    std::vector<DamagedRun> damaged;
    SQLite::Statement rows(connection_->database(),
                           std::string(select_runs) + std::string(newest_first));
    while (rows.executeStep()) {
      try {
        read_run(rows);
      } catch (const DamagedRow& damage) {
        damaged.push_back({rows.getColumn(1).getString(), damage.message});
      }
    }
    return damaged;
  });
}

Result<RunInfo> Database::run_info(const std::string& name) {
  return guarded(*connection_, [&]() -> Result<RunInfo> {
    SQLite::Statement row(connection_->database(), std::string(select_runs) + " WHERE name = ?");
    row.bind(1, name);
    if (!row.executeStep()) return unknown_run(connection_->database(), name);
    return read_run(row);
  });
}

Result<Run> Database::load_run(const std::string& name) {
  return guarded(*connection_, [&]() -> Result<Run> {
    SQLite::Database& database = connection_->database();
    // One read transaction sees a case that is being recorded whole or not at all.
    SQLite::Transaction transaction(database);
    const std::optional<std::int64_t> run_id = find_run(database, name);
    if (!run_id) return unknown_run(database, name);
    Result<RunInfo> info = run_info(name);
    if (!info) return tl::unexpected(std::move(info.error()));
    return Run{std::move(*info), read_cases(database, *run_id)};
  });
}

Result<std::optional<std::string>> Database::latest_run(
    const std::optional<std::string>& experiment) {
  return guarded(*connection_, [&]() -> Result<std::optional<std::string>> {
    SQLite::Statement row(
        connection_->database(),
        "SELECT name FROM runs WHERE ?1 IS NULL OR experiment = ?1" + std::string(newest_first));
    if (experiment) row.bind(1, *experiment);
    while (row.executeStep()) {
      const std::string name = row.getColumn(0).getString();
      SQLite::Statement whole(connection_->database(),
                              std::string(select_runs) + " WHERE name = ?");
      whole.bind(1, name);
      try {
        if (whole.executeStep()) return read_run(whole).name;
      } catch (const DamagedRow&) {
        continue;  // an older one may be whole
      }
    }
    return std::nullopt;
  });
}

Result<std::map<std::string, RecordedCase>> Database::recorded_cases(const std::string& run) {
  using Cases = std::map<std::string, RecordedCase>;
  return guarded(*connection_, [&]() -> Result<Cases> {
    SQLite::Database& database = connection_->database();
    SQLite::Transaction transaction(database);
    const std::optional<std::int64_t> run_id = find_run(database, run);
    if (!run_id) return unknown_run(database, run);
    SQLite::Statement rows(database,
                           "SELECT key, ordinal, build, outcome, context, "
                           "(SELECT group_concat(DISTINCT series.outcome) FROM series "
                           "WHERE case_id = cases.id) "
                           "FROM cases WHERE run_id = ? ORDER BY ordinal");
    rows.bind(1, *run_id);
    Cases cases;
    while (rows.executeStep()) {
      const std::string context = rows.getColumn(4).getString();
      cases.try_emplace(
          rows.getColumn(0).getString(),
          RecordedCase{rows.getColumn(1).getInt64(), rows.getColumn(2).getString(),
                       stored_outcome(rows.getColumn(3).getString()),
                       case_facts_from_json(nlohmann::json::parse(context, nullptr, false)).passes,
                       outcomes_in(rows.getColumn(5).getString())});
    }
    return cases;
  });
}

Result<std::map<std::string, double>> Database::wall_times(const std::vector<std::string>& keys) {
  using Times = std::map<std::string, double>;
  return guarded(*connection_, [&]() -> Result<Times> {
    SQLite::Database& database = connection_->database();
    SQLite::Transaction transaction(database);
    SQLite::Statement row(database,
                          "SELECT wall_s FROM cases JOIN runs ON runs.id = run_id "
                          "WHERE key = ? AND outcome != ? AND wall_s > 0 "
                          "ORDER BY order_time DESC, runs.id DESC LIMIT 1");
    Times times;
    for (const std::string& key : keys) {
      row.reset();
      row.bind(1, key);
      row.bind(2, std::string(to_text(Outcome::skipped)));
      if (row.executeStep()) times[key] = row.getColumn(0).getDouble();
    }
    return times;
  });
}

}  // namespace assay::store
