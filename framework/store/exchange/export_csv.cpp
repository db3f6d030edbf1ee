#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <ostream>
#include <set>
#include <tuple>

#include "store/exchange/csv_columns.h"
#include "store/exchange/export.h"
#include "store/exchange/export_statistics.h"
#include "store/records/json.h"
#include "store/records/marks.h"

namespace assay::store {
namespace {

std::string csv_cell(const std::string& text) {
  const bool plain = text.find_first_of(",\"\r\n") == std::string::npos &&
                     (text.empty() || (text.front() != ' ' && text.back() != ' '));
  if (plain) return text;
  std::string cell = "\"";
  for (const char c : text) {
    if (c == '"') cell += '"';
    cell += c;
  }
  return cell + '"';
}

// A whole real number keeps its point and is read as a real number again.
std::string axis_cell(const Value& value) {
  std::string text = to_text(value);
  const auto* real = std::get_if<double>(&value);
  if (real != nullptr && std::isfinite(*real) && text.find_first_of(".e") == std::string::npos) {
    text += ".0";
  }
  return csv_cell(text);
}

std::string figure_cell(double figure) {
  return std::isfinite(figure) ? fmt::format("{}", figure) : std::string();
}

std::string samples_cell(const std::vector<double>& samples) {
  std::string cell = "[";
  for (const double sample : samples) {
    if (!std::isfinite(sample)) return {};
    if (cell.size() > 1) cell += ' ';
    cell += fmt::format("{}", sample);
  }
  return cell + ']';
}

// One word as it is, several as a JSON list.
std::string words_cell(const std::vector<std::string>& words) {
  if (words.empty()) return {};
  const bool plain = words.size() == 1 && !words[0].empty() && !words[0].starts_with('[');
  return csv_cell(plain ? words[0] : dump(words));
}

struct MetricColumns {
  std::string metric;
  std::string unit;
  std::vector<std::string> statistics;
  bool samples = false;
  bool words = false;

  void add(const Series& series) {
    samples = samples || !series.samples.empty();
    words = words || !series.words.empty();
    for (const std::string& name : figure_names(series)) {
      if (std::find(statistics.begin(), statistics.end(), name) == statistics.end()) {
        statistics.push_back(name);
      }
    }
  }

  // In the order of exported_statistics, then by name.
  void sort() {
    const auto rank = [](const std::string& name) {
      const auto at = std::find(exported_statistics.begin(), exported_statistics.end(), name);
      return std::pair(at - exported_statistics.begin(), name);
    };
    std::sort(statistics.begin(), statistics.end(),
              [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
  }
};

struct Table {
  std::set<std::string> axes;
  std::vector<MetricColumns> metrics;
  bool lanes = false;
  bool artefacts = false;
};

Table columns_of(const Run& run) {
  Table table;
  for (const CaseResult& result : run.cases) {
    for (const auto& [name, value] : result.parameters) table.axes.insert(name);
    table.artefacts = table.artefacts || !result.artefacts.empty();
    for (const Series& series : result.series) {
      table.lanes = table.lanes || !series.lane.empty();
      if (series.metric.empty()) continue;
      auto known =
          std::find_if(table.metrics.begin(), table.metrics.end(), [&](const auto& metric) {
            return metric.metric == series.metric && metric.unit == series.unit;
          });
      if (known == table.metrics.end()) {
        table.metrics.push_back({series.metric, series.unit, {}});
        known = std::prev(table.metrics.end());
      }
      known->add(series);
    }
  }
  for (MetricColumns& metric : table.metrics) metric.sort();
  return table;
}

void write_header(const Table& table, std::ostream& out) {
  for (const std::string& axis : table.axes) out << csv_cell(axis) << ',';
  out << (table.lanes ? "pass,part,lane,rank" : "pass,part,rank");
  for (const MetricColumns& metric : table.metrics) {
    const std::string unit = metric.unit.empty() ? "1" : metric.unit;
    for (const std::string& statistic : metric.statistics) {
      out << ','
          << csv_cell(fmt::format("{}.{} [{}]", metric.metric, statistic,
                                  statistic == "n" ? "count" : unit));
    }
    if (metric.samples) out << ',' << csv_cell(fmt::format("{}.samples [{}]", metric.metric, unit));
    if (metric.words) out << ',' << csv_cell(metric.metric + std::string(words_header));
  }
  if (table.artefacts) out << ',' << artefact_header;
  out << ",outcome,reason\n";
}

// Series that share a row: one pass, part, lane, rank and outcome, each metric once; or a file.
struct Row {
  std::string pass;
  std::string part;
  std::string lane;
  int rank = 0;
  ExchangedOutcome outcome;
  std::vector<const Series*> series;
  const Artefact* artefact = nullptr;

  // candidate: of the same pass, part, lane and rank.
  bool takes(const Series& candidate, const ExchangedOutcome& exchanged) const {
    return outcome.outcome == exchanged.outcome && outcome.reason == exchanged.reason &&
           std::none_of(series.begin(), series.end(),
                        [&](const Series* other) { return other->metric == candidate.metric; });
  }
};

// A CSV has no marks: the outcome of a row tells that its figure was discarded.
CaseResult as_shown(const CaseResult& result) {
  CaseResult shown = result;
  for (Series& series : shown.series) {
    if (auto stand_in = stand_in_for(result, series)) series = std::move(*stand_in);
  }
  return shown;
}

std::vector<Row> rows_of(const CaseResult& result) {
  std::vector<Row> rows;
  std::map<std::tuple<std::string, std::string, std::string, int>, std::vector<std::size_t>> alike;
  for (const Series& series : result.series) {
    const ExchangedOutcome outcome = exchanged_outcome(series);
    auto& candidates = alike[{series.pass, series.part, series.lane, series.rank}];
    const auto candidate = std::find_if(candidates.begin(), candidates.end(), [&](std::size_t row) {
      return rows[row].takes(series, outcome);
    });
    auto fitting = candidate == candidates.end()
                       ? rows.end()
                       : rows.begin() + static_cast<std::ptrdiff_t>(*candidate);
    if (fitting == rows.end()) {
      candidates.push_back(rows.size());
      rows.push_back({series.pass, series.part, series.lane, series.rank, outcome, {}});
      fitting = std::prev(rows.end());
    }
    fitting->series.push_back(&series);
  }
  if (rows.empty()) rows.push_back({"", "", "", 0, {result.outcome, result.reason}, {}});
  for (const Artefact& artefact : result.artefacts) {
    rows.push_back({artefact.pass, "", "", artefact.rank, {}, {}, &artefact});
  }
  return rows;
}

void write_figures(const MetricColumns& metric, const Row& row, std::ostream& out) {
  const auto found = std::find_if(row.series.begin(), row.series.end(), [&](const Series* series) {
    return series->metric == metric.metric && series->unit == metric.unit;
  });
  const Series none;
  const Series& series = found == row.series.end() ? none : **found;
  const std::map<std::string, double> figures = figures_of(series);
  for (const std::string& statistic : metric.statistics) {
    const auto figure = figures.find(statistic);
    out << ',' << (figure == figures.end() ? std::string() : figure_cell(figure->second));
  }
  if (metric.samples) out << ',' << (series.samples.empty() ? "" : samples_cell(series.samples));
  if (metric.words) out << ',' << words_cell(series.words);
}

void write_row(const Table& table, const CaseResult& result, const Row& row, std::ostream& out) {
  for (const std::string& axis : table.axes) {
    const auto value = result.parameters.find(axis);
    out << (value == result.parameters.end() ? std::string() : axis_cell(value->second)) << ',';
  }
  out << csv_cell(row.pass) << ',' << csv_cell(row.part) << ',';
  if (table.lanes) out << csv_cell(row.lane) << ',';
  out << row.rank;
  for (const MetricColumns& metric : table.metrics) write_figures(metric, row, out);
  if (table.artefacts) {
    out << ',' << (row.artefact == nullptr ? "" : csv_cell(dump(to_json(*row.artefact))));
  }
  out << ',' << to_text(row.outcome.outcome) << ',' << csv_cell(row.outcome.reason) << '\n';
}

}  // namespace

Result<void> export_csv(const Run& run, std::ostream& out) {
  const Table table = columns_of(run);
  write_header(table, out);
  for (const CaseResult& result : run.cases) {
    const CaseResult shown = as_shown(result);
    for (const Row& row : rows_of(shown)) write_row(table, shown, row, out);
  }
  out.flush();
  if (!out) {
    return fail(ExitCode::results_unreadable, "the export could not be written",
                "is the disk full?");
  }
  return {};
}

}  // namespace assay::store
