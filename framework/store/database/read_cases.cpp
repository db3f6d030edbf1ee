#include "store/database/read_cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <thread>
#include <unordered_map>
#include <utility>

#include "statistics/statistics.h"
#include "store/database/connection.h"
#include "store/database/figures.h"
#include "store/database/rows.h"
#include "store/records/json.h"
#include "store/records/plain_parameters.h"

namespace assay::store {
namespace {

constexpr std::size_t least_per_thread = 1000;  // cases; fewer take less time than a thread

// The columns of a case that are JSON, which takes most of the time to read.
struct CaseTexts {
  std::string parameters;
  std::string context;
};

nlohmann::json json_of(const std::string& text, const char* column) {
  nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (json.is_discarded()) throw DamagedRow{fmt::format("'{}' is not JSON", column)};
  return json;
}

Parameters parameters_of(const std::string& text) {
  if (std::optional<Parameters> plain = plain_parameters(text)) return std::move(*plain);
  Result<Parameters> parameters = parameters_from_json(json_of(text, "parameters"));
  if (!parameters) throw DamagedRow{parameters.error().text()};
  return std::move(*parameters);
}

void parse(CaseTexts texts, CaseResult& into) {
  into.parameters = parameters_of(texts.parameters);
  into.facts = case_facts_from_json(json_of(texts.context, "context"));
}

// Fills in the parameters and facts of the cases. Until the futures are ready nothing else may
// touch those, nor the texts.
std::vector<std::future<void>> begin_parsing(std::vector<CaseTexts>& texts,
                                             std::vector<CaseResult>& cases) {
  const std::size_t cores = std::max(1u, std::thread::hardware_concurrency());
  const std::size_t threads = std::clamp<std::size_t>(cases.size() / least_per_thread, 1, cores);
  const auto policy = threads > 1
                          ? std::launch::async | std::launch::deferred  // with no thread left
                          : std::launch::deferred;
  std::vector<std::future<void>> parts;
  for (std::size_t part = 0; part < threads; ++part) {
    parts.push_back(std::async(policy, [&texts, &cases, part, threads] {
      const std::size_t end = cases.size() * (part + 1) / threads;
      for (std::size_t i = cases.size() * part / threads; i < end; ++i) {
        parse(std::move(texts[i]), cases[i]);
      }
    }));
  }
  return parts;
}

double real_in(const SQLite::Column& column) {
  return column.isNull() ? statistics::not_a_number : column.getDouble();
}

std::vector<std::string> words_in(const SQLite::Column& column) {
  std::vector<std::string> words;
  if (column.getBytes() == 0) return words;
  for (const nlohmann::json& word : json_in(column)) {
    if (!word.is_string()) throw DamagedRow{"'words' is not a list of texts"};
    words.push_back(word.get<std::string>());
  }
  return words;
}

// A bit that flipped on the disk must not be shown as a time.
void withhold_changed_figures(Series& series, const SQLite::Column& checksum) {
  if (checksum.isNull()) return;
  if (checksum_of(blob_of(series.samples), series.statistics) == checksum.getInt64()) return;
  series.samples.clear();
  series.statistics.clear();
  series.outcome = Outcome::error;
  series.reason =
      "the stored figures have been changed or damaged: their checksum differs; measure the case "
      "again with --resume --rerun";
}

using PlaceByRow = std::unordered_map<std::int64_t, std::size_t>;  // in the list of cases

// Without parameters and facts.
CaseResult read_case(SQLite::Statement& row) {
  CaseResult result;
  result.ordinal = row.getColumn(1).getInt64();
  result.key = row.getColumn(2).getString();
  result.key_text = row.getColumn(3).getString();
  result.build = row.getColumn(5).getString();
  result.outcome = stored_outcome(row.getColumn(6).getString());
  result.reason = row.getColumn(7).getString();
  result.wall_s = real_in(row.getColumn(8));
  result.when = row.getColumn(9).getString();
  result.session = row.getColumn(11).getInt();
  return result;
}

Series read_series(SQLite::Statement& row) {
  Series series;
  series.pass = row.getColumn(2).getString();
  series.metric = row.getColumn(3).getString();
  series.part = row.getColumn(4).getString();
  series.rank = row.getColumn(5).getInt();
  series.unit = row.getColumn(6).getString();
  series.outcome = stored_outcome(row.getColumn(7).getString());
  series.reason = row.getColumn(8).getString();
  series.clock = row.getColumn(9).getString();
  const SQLite::Column samples = row.getColumn(10);
  series.samples = samples_in(samples.getBlob(), static_cast<std::size_t>(samples.getBytes()));
  series.lane = row.getColumn(11).getString();
  series.words = words_in(row.getColumn(12));
  return series;
}

using StatisticsBySeries = std::unordered_map<std::int64_t, std::map<std::string, double>>;

StatisticsBySeries read_statistics(SQLite::Database& database, std::int64_t run_id) {
  SQLite::Statement rows(database,
                         "SELECT series_id, name, value FROM statistics "
                         "JOIN series ON series.id = series_id "
                         "JOIN cases ON cases.id = case_id WHERE run_id = ?");
  rows.bind(1, run_id);
  StatisticsBySeries statistics;
  while (rows.executeStep()) {
    statistics[rows.getColumn(0).getInt64()][rows.getColumn(1).getString()] =
        real_in(rows.getColumn(2));
  }
  return statistics;
}

void read_all_series(SQLite::Database& database, std::int64_t run_id, const PlaceByRow& place,
                     std::vector<CaseResult>& cases) {
  StatisticsBySeries statistics = read_statistics(database, run_id);
  SQLite::Statement rows(
      database,
      "SELECT series.id, case_id, pass, metric, part, rank, unit, series.outcome, series.reason, "
      "clock, samples, lane, words, checksum FROM series JOIN cases ON cases.id = case_id WHERE "
      "run_id = ? "
      "ORDER BY case_id, position");
  rows.bind(1, run_id);
  while (rows.executeStep()) {
    Series series = read_series(rows);
    if (const auto known = statistics.find(rows.getColumn(0).getInt64());
        known != statistics.end()) {
      series.statistics = std::move(known->second);
    }
    withhold_changed_figures(series, rows.getColumn(13));
    cases[place.at(rows.getColumn(1).getInt64())].series.push_back(std::move(series));
  }
}

std::size_t count_cases(SQLite::Database& database, std::int64_t run_id) {
  SQLite::Statement row(database, "SELECT count(*) FROM cases WHERE run_id = ?");
  row.bind(1, run_id);
  row.executeStep();
  return static_cast<std::size_t>(row.getColumn(0).getInt64());
}

}  // namespace

std::vector<CaseResult> read_cases(SQLite::Database& database, std::int64_t run_id) {
  const std::size_t count = count_cases(database, run_id);
  std::vector<CaseResult> cases;
  std::vector<CaseTexts> texts;
  PlaceByRow place;
  cases.reserve(count);
  texts.reserve(count);
  SQLite::Statement rows(
      database,
      "SELECT id, ordinal, key, key_text, parameters, build, outcome, reason, wall_s, measured_at, "
      "context, session FROM cases WHERE run_id = ? ORDER BY ordinal");
  rows.bind(1, run_id);
  while (rows.executeStep()) {
    place[rows.getColumn(0).getInt64()] = cases.size();
    cases.push_back(read_case(rows));
    texts.push_back({rows.getColumn(4).getString(), rows.getColumn(10).getString()});
  }
  std::vector<std::future<void>> parsing = begin_parsing(texts, cases);
  read_all_series(database, run_id, place, cases);
  read_artefacts(database, run_id, place, cases);
  for (std::future<void>& part : parsing) part.get();
  return cases;
}

}  // namespace assay::store
