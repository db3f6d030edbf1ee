#include "store/database/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string_view>

#include "statistics/statistics.h"
#include "store/database/connection.h"
#include "store/database/figures.h"
#include "store/records/json.h"

namespace assay::store {

namespace {

void bind_real(SQLite::Statement& statement, int index, double real) {
  if (std::isnan(real)) {
    statement.bind(index);
  } else {
    statement.bind(index, real);
  }
}

void bind_text(SQLite::Statement& statement, int index, std::string_view text) {
  statement.bind(index, std::string(text));
}

bool is_folder_name(const std::string& name, std::size_t most_bytes) {
  const bool has_bad = std::any_of(name.begin(), name.end(), [](unsigned char c) {
    return c == '/' || c == '\\' || c < 0x20 || c == 0x7f;
  });
  // SQLite's journals lie beside the file as assay.db-wal and the like.
  const bool is_of_database = name.starts_with("assay.db");
  return !name.empty() && name.size() <= most_bytes && name[0] != '.' && !has_bad &&
         !is_of_database;
}

}  // namespace

bool is_run_name(const std::string& name) { return is_folder_name(name, longest_run_name); }

std::string name_in(const SQLite::Column& column) {
  std::string name = column.getString();
  constexpr std::size_t longest_of_file_systems = 255;
  if (!is_folder_name(name, longest_of_file_systems)) {
    throw DamagedRow{"a run has a name that cannot be a folder name"};
  }
  return name;
}

nlohmann::json json_in(const SQLite::Column& column) {
  nlohmann::json json = nlohmann::json::parse(column.getString(), nullptr, false);
  if (json.is_discarded()) throw DamagedRow{fmt::format("'{}' is not JSON", column.getName())};
  return json;
}

Outcome stored_outcome(const std::string& text) {
  if (const std::optional<Outcome> outcome = outcome_from_text(text)) return *outcome;
  throw DamagedRow{fmt::format("'{}' is not an outcome", text)};
}

RunInfo read_run(SQLite::Statement& row) {
  RunInfo info;
  info.name = name_in(row.getColumn(1));
  info.experiment = row.getColumn(2).getString();
  info.title = row.getColumn(3).getString();
  info.first.experiment_text = row.getColumn(4).getString();
  info.first.experiment_file = row.getColumn(5).getString();
  for (const nlohmann::json& text : json_in(row.getColumn(6))) {
    if (!text.is_string()) throw DamagedRow{"'overrides' is not a list of texts"};
    info.first.overrides.push_back(text.get<std::string>());
  }
  for (const nlohmann::json& one : json_in(row.getColumn(11))) {
    Result<Session> session = session_from_json(one);
    if (!session) throw DamagedRow{session.error().text()};
    info.sessions.push_back(std::move(*session));
  }
  const nlohmann::json builds = json_in(row.getColumn(12));
  if (!builds.is_object()) throw DamagedRow{"'builds' is not an object"};
  builds.get_to(info.builds);
  info.started = row.getColumn(7).getString();
  info.finished = row.getColumn(8).getString();
  info.first.machine = json_in(row.getColumn(9));
  info.first.provenance = json_in(row.getColumn(10));
  return info;
}

std::int64_t insert_run(SQLite::Database& database, const RunInfo& info, RunOrigin origin) {
  SQLite::Statement insert(
      database,
      "INSERT INTO runs (name, experiment, title, experiment_text, experiment_file, overrides, "
      "started, finished, machine, provenance, sessions, builds, order_time) "
      "VALUES (?, ?, ?, ?, ?, ?, ?7, ?, ?, ?, ?, ?, "
      "CASE WHEN ?13 THEN max(?7, (SELECT coalesce(max(order_time), '') FROM runs)) ELSE ?7 END)");
  insert.bind(1, info.name);
  insert.bind(2, info.experiment);
  insert.bind(3, info.title);
  insert.bind(4, info.first.experiment_text);
  insert.bind(5, info.first.experiment_file);
  insert.bind(6, dump(info.first.overrides));
  insert.bind(7, info.started);
  insert.bind(8, info.finished);
  insert.bind(9, dump(info.first.machine));
  insert.bind(10, dump(info.first.provenance));
  insert.bind(11, dump(to_json(info).at("sessions")));
  insert.bind(12, dump(info.builds));
  insert.bind(13, origin == RunOrigin::begun ? 1 : 0);
  insert.exec();
  return database.getLastInsertRowid();
}

void update_run(SQLite::Database& database, std::int64_t run_id, const std::string& column,
                const std::string& text) {
  SQLite::Statement update(database, "UPDATE runs SET " + column + " = ? WHERE id = ?");
  update.bind(1, text);
  update.bind(2, run_id);
  update.exec();
}

void arrange(SQLite::Database& database, std::int64_t run_id,
             const std::map<std::string, std::int64_t>& places) {
  std::int64_t next = 0;  // for cases without a place
  for (const auto& [key, place] : places) next = std::max(next, place + 1);
  std::vector<std::pair<std::int64_t, std::int64_t>> moved;  // id, ordinal
  std::set<std::int64_t> taken;
  bool changed = false;
  SQLite::Statement rows(database,
                         "SELECT id, ordinal, key FROM cases WHERE run_id = ? ORDER BY ordinal");
  rows.bind(1, run_id);
  while (rows.executeStep()) {
    const auto place = places.find(rows.getColumn(2).getString());
    const bool has_place = place != places.end() && taken.insert(place->second).second;
    moved.emplace_back(rows.getColumn(0).getInt64(), has_place ? place->second : next++);
    changed = changed || moved.back().second != rows.getColumn(1).getInt64();
  }
  if (!changed) return;
  // Ordinals stay unique at every moment: all move to unused negative ones first.
  SQLite::Statement aside(database, "UPDATE cases SET ordinal = -1 - id WHERE run_id = ?");
  aside.bind(1, run_id);
  aside.exec();
  SQLite::Statement move(database, "UPDATE cases SET ordinal = ? WHERE id = ?");
  for (const auto& [id, ordinal] : moved) {
    move.reset();
    move.bind(1, ordinal);
    move.bind(2, id);
    move.exec();
  }
}

std::map<std::int64_t, std::map<Outcome, int>> count_outcomes(SQLite::Database& database) {
  SQLite::Statement rows(database,
                         "SELECT run_id, outcome, count(*) FROM cases GROUP BY run_id, outcome");
  std::map<std::int64_t, std::map<Outcome, int>> outcomes;
  while (rows.executeStep()) {
    const std::optional<Outcome> outcome = outcome_from_text(rows.getColumn(1).getString());
    if (outcome) outcomes[rows.getColumn(0).getInt64()][*outcome] = rows.getColumn(2).getInt();
  }
  return outcomes;
}

CaseWriter::CaseWriter(SQLite::Database& database)
    : database_(database),
      remove_case_(database, "DELETE FROM cases WHERE run_id = ? AND key = ?"),
      find_ordinal_(database,
                    "SELECT CASE WHEN EXISTS (SELECT 1 FROM cases WHERE run_id = ?1 AND ordinal = "
                    "?2) THEN (SELECT max(ordinal) + 1 FROM cases WHERE run_id = ?1) ELSE ?2 END"),
      insert_case_(database,
                   "INSERT INTO cases (run_id, ordinal, key, key_text, parameters, build, outcome, "
                   "reason, wall_s, measured_at, context, session) "
                   "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"),
      insert_series_(database,
                     "INSERT INTO series (case_id, position, pass, metric, part, rank, unit, "
                     "outcome, reason, clock, samples, lane, words, checksum) "
                     "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"),
      insert_statistic_(database,
                        "INSERT INTO statistics (series_id, name, value) VALUES (?, ?, ?)"),
      artefacts_(database) {}

void CaseWriter::add(std::int64_t run_id, const CaseResult& result) {
  write(run_id, result.ordinal, result);
}

void CaseWriter::replace(std::int64_t run_id, const CaseResult& result) {
  remove_case_.reset();
  remove_case_.bind(1, run_id);
  remove_case_.bind(2, result.key);
  remove_case_.exec();
  write(run_id, free_ordinal(run_id, result.ordinal), result);
}

std::int64_t CaseWriter::free_ordinal(std::int64_t run_id, std::int64_t wanted) {
  find_ordinal_.reset();
  find_ordinal_.bind(1, run_id);
  find_ordinal_.bind(2, wanted);
  find_ordinal_.executeStep();
  const std::int64_t ordinal = find_ordinal_.getColumn(0).getInt64();
  find_ordinal_.reset();
  return ordinal;
}

void CaseWriter::write(std::int64_t run_id, std::int64_t ordinal, const CaseResult& result) {
  insert_case_.reset();
  insert_case_.bind(1, run_id);
  insert_case_.bind(2, ordinal);
  insert_case_.bind(3, result.key);
  insert_case_.bind(4, result.key_text);
  insert_case_.bind(5, dump(to_json(result.parameters)));
  insert_case_.bind(6, result.build);
  bind_text(insert_case_, 7, to_text(result.outcome));
  insert_case_.bind(8, result.reason);
  bind_real(insert_case_, 9, result.wall_s);
  insert_case_.bind(10, result.when);
  insert_case_.bind(11, dump(to_json(result.facts)));
  insert_case_.bind(12, result.session);
  insert_case_.exec();

  const std::int64_t case_id = database_.getLastInsertRowid();
  std::int64_t position = 0;
  for (const Series& series : result.series) write_series(case_id, position++, series);
  artefacts_.add(case_id, result.artefacts);
}

void CaseWriter::write_series(std::int64_t case_id, std::int64_t position, const Series& series) {
  const std::string samples = blob_of(series.samples);
  insert_series_.reset();
  insert_series_.bind(1, case_id);
  insert_series_.bind(2, position);
  insert_series_.bind(3, series.pass);
  insert_series_.bind(4, series.metric);
  insert_series_.bind(5, series.part);
  insert_series_.bind(6, series.rank);
  insert_series_.bind(7, series.unit);
  bind_text(insert_series_, 8, to_text(series.outcome));
  insert_series_.bind(9, series.reason);
  insert_series_.bind(10, series.clock);
  insert_series_.bind(11, samples.data(), static_cast<int>(samples.size()));
  insert_series_.bind(12, series.lane);
  insert_series_.bind(13, series.words.empty() ? std::string() : dump(series.words));
  insert_series_.bind(14, checksum_of(samples, series.statistics));
  insert_series_.exec();

  const std::int64_t series_id = database_.getLastInsertRowid();
  for (const auto& [name, figure] : series.statistics) {
    insert_statistic_.reset();
    insert_statistic_.bind(1, series_id);
    insert_statistic_.bind(2, name);
    bind_real(insert_statistic_, 3, figure);
    insert_statistic_.exec();
  }
}

}  // namespace assay::store
