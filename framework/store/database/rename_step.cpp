#include "store/database/rename_step.h"

#include <SQLiteCpp/Statement.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/records/json.h"
#include "store/renames/names_in_text.h"
#include "store/renames/renames.h"

namespace assay::store {
namespace {

using nlohmann::json;

// null for what is not JSON.
json json_of(const SQLite::Column& column) {
  json parsed = json::parse(column.getString(), nullptr, false);
  return parsed.is_discarded() ? json() : parsed;
}

struct RenamedCase {
  std::int64_t id;
  CaseResult result;
  bool has_facts;                    // else the row keeps its own
  std::vector<std::int64_t> series;  // the rows of result.series
};

// Most facts name no renamed variant: reading them would take most of the step's time.
bool name_renamed_variants(std::string_view facts) {
  return with_new_words(facts) != facts || facts.find("\"interleaved\"") != std::string_view::npos;
}

// The case's series with a reason, with nothing else.
void read_reasons(SQLite::Statement& rows, RenamedCase& one) {
  rows.reset();
  rows.bind(1, one.id);
  while (rows.executeStep()) {
    one.series.push_back(rows.getColumn(0).getInt64());
    one.result.series.emplace_back().reason = rows.getColumn(1).getString();
  }
}

// The cases of which something changes; the keys of all go to `keys`.
std::vector<RenamedCase> renamed_cases(SQLite::Database& database, std::int64_t run_id,
                                       NewKeys& keys) {
  SQLite::Statement rows(
      database,
      "SELECT id, key, key_text, parameters, context, reason FROM cases WHERE run_id = ?");
  rows.bind(1, run_id);
  SQLite::Statement reasons(database,
                            "SELECT id, reason FROM series WHERE case_id = ? AND reason != ''");
  std::vector<RenamedCase> renamed;
  while (rows.executeStep()) {
    RenamedCase one{rows.getColumn(0).getInt64(), {}, false, {}};
    one.result.key = rows.getColumn(1).getString();
    const std::string key = one.result.key;
    one.result.key_text = rows.getColumn(2).getString();
    if (auto parameters = parameters_from_json(json_of(rows.getColumn(3)))) {
      one.result.parameters = std::move(*parameters);
      one.has_facts = name_renamed_variants(rows.getColumn(4).getString());
      if (one.has_facts) one.result.facts = case_facts_from_json(json_of(rows.getColumn(4)));
      one.result.reason = rows.getColumn(5).getString();
      read_reasons(reasons, one);
      if (rename_variants(one.result)) renamed.push_back(one);
    }
    keys[key] = one.result.key;
  }
  return renamed;
}

void write_cases(SQLite::Database& database, const std::vector<RenamedCase>& cases) {
  SQLite::Statement update(database,
                           "UPDATE cases SET key = ?, key_text = ?, parameters = ?, "
                           "context = coalesce(?, context), reason = ? WHERE id = ?");
  SQLite::Statement update_series(database, "UPDATE series SET reason = ? WHERE id = ?");
  for (const RenamedCase& one : cases) {
    update.reset();
    update.bind(1, one.result.key);
    update.bind(2, one.result.key_text);
    update.bind(3, dump(to_json(one.result.parameters)));
    if (one.has_facts) {
      update.bind(4, dump(to_json(one.result.facts)));
    } else {
      update.bind(4);
    }
    update.bind(5, one.result.reason);
    update.bind(6, one.id);
    update.exec();
    for (std::size_t i = 0; i < one.series.size(); ++i) {
      update_series.reset();
      update_series.bind(1, one.result.series[i].reason);
      update_series.bind(2, one.series[i]);
      update_series.exec();
    }
  }
}

// Whether it is one; else it stays as it is.
bool rename_session(json& written, const NewKeys& keys) {
  auto session = session_from_json(written);
  if (!session) return false;
  rename_variants(*session, keys);
  written = to_json(*session);
  return true;
}

void write_run(SQLite::Database& database, std::int64_t run_id, const NewKeys& keys) {
  SQLite::Statement row(
      database, "SELECT experiment_text, overrides, provenance, sessions FROM runs WHERE id = ?");
  row.bind(1, run_id);
  row.executeStep();
  json first = {{"experiment_text", row.getColumn(0).getString()},
                {"overrides", json_of(row.getColumn(1))},
                {"provenance", json_of(row.getColumn(2))}};
  json sessions = json_of(row.getColumn(3));
  if (!sessions.is_array() || !rename_session(first, keys)) return;
  for (json& session : sessions) rename_session(session, keys);
  SQLite::Statement update(database,
                           "UPDATE runs SET experiment_text = ?, overrides = ?, provenance = ?, "
                           "sessions = ? WHERE id = ?");
  update.bind(1, first.at("experiment_text").get<std::string>());
  update.bind(2, dump(first.at("overrides")));
  update.bind(3, dump(first.at("provenance")));
  update.bind(4, dump(sessions));
  update.bind(5, run_id);
  update.exec();
}

}  // namespace

void rename_variants(SQLite::Database& database) {
  std::vector<std::int64_t> runs;
  SQLite::Statement rows(database, "SELECT id FROM runs");
  while (rows.executeStep()) runs.push_back(rows.getColumn(0).getInt64());
  for (const std::int64_t run : runs) {
    NewKeys keys;
    write_cases(database, renamed_cases(database, run, keys));
    write_run(database, run, keys);
  }
}

}  // namespace assay::store
