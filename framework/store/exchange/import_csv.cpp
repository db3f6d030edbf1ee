#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "base/case_key.h"
#include "base/outcome.h"
#include "base/text.h"
#include "store/exchange/csv.h"
#include "store/exchange/csv_columns.h"
#include "store/exchange/import_formats.h"
#include "store/records/identity.h"
#include "store/records/intake.h"
#include "store/records/json.h"

namespace assay::store {
namespace {

using Kind = CsvColumn::Kind;

Outcome read_outcome(const CsvCell& cell, Problems& problems) {
  if (cell.text.empty()) return Outcome::ok;
  if (const std::optional<Outcome> outcome = outcome_from_text(cell.text)) return *outcome;
  problems.add(
      cell.line, cell.column,
      fmt::format("unknown outcome '{}'{}", cell.text, suggestion(cell.text, outcome_names())));
  return Outcome::ok;
}

int read_rank(const CsvCell& cell, Problems& problems) {
  if (cell.text.empty()) return 0;
  int rank = 0;
  const char* end = cell.text.data() + cell.text.size();
  const auto read = std::from_chars(cell.text.data(), end, rank);
  if (read.ec == std::errc{} && read.ptr == end && rank >= 0) return rank;
  problems.add(cell.line, cell.column, fmt::format("'{}' is not a rank", cell.text),
               "ranks are whole numbers from 0");
  return 0;
}

std::optional<double> read_number(const CsvCell& cell, std::string_view text, const Unit& unit,
                                  Problems& problems) {
  const std::optional<double> number = parse_in_unit(trim(text), unit);
  if (!number) {
    problems.add(cell.line, cell.column, fmt::format("'{}' is not a finite decimal number", text),
                 "leave the cell empty where there is no figure, and give the outcome");
  }
  return number;
}

// "[1.5 1.6]" or "1.5, 1.6".
std::vector<double> read_samples(const CsvCell& cell, const Unit& unit, Problems& problems) {
  std::string_view text = trim(cell.text);
  const bool opens = text.substr(0, 1) == "[";
  if (opens != (!text.empty() && text.back() == ']')) {
    problems.add(cell.line, cell.column, "a list of samples stands between [ and ]");
    return {};
  }
  if (opens) text = text.substr(1, text.size() - 2);
  std::vector<double> samples;
  while (true) {
    const std::size_t start = text.find_first_not_of(" ,\t");
    if (start == std::string_view::npos) return samples;
    text.remove_prefix(start);
    const std::size_t end = std::min(text.find_first_of(" ,\t"), text.size());
    const auto number = read_number(cell, text.substr(0, end), unit, problems);
    if (!number) return samples;
    samples.push_back(*number);
    text.remove_prefix(end);
  }
}

class CsvImport {
 public:
  CsvImport(std::vector<CsvColumn> columns, Problems& problems)
      : columns_(std::move(columns)), problems_(problems), unit_of_(base_units(columns_)) {
    std::set<std::string> known;
    for (const CsvColumn& column : columns_) {
      has_pass_column_ = has_pass_column_ || column.kind == Kind::pass;
      const bool holds_metric = column.kind == Kind::figure || column.kind == Kind::words;
      const bool is_metric = holds_metric && known.insert(column.name).second;
      if (is_metric) metrics_.push_back(column.name);
    }
  }

  void add_row(const CsvRow& row) {
    if (row.size() != columns_.size()) {
      const CsvCell& at = row[std::min(row.size(), columns_.size() + 1) - 1];
      return problems_.add(
          at.line, at.column,
          fmt::format("this row has {} cells, the header {}", row.size(), columns_.size()),
          "quote a cell that holds a comma");
    }
    Parameters parameters;
    Series common;
    std::map<std::string, Series> figures;
    std::vector<Artefact> artefacts;
    for (std::size_t i = 0; i < row.size(); ++i) {
      read_cell(row[i], columns_[i], parameters, common, figures);
      if (columns_[i].kind == Kind::artefact) read_artefact(row[i], artefacts);
    }
    CaseResult& result = case_with(std::move(parameters));
    if (!artefacts.empty()) {
      result.artefacts.push_back(std::move(artefacts.front()));
      return;
    }
    const bool is_of_whole_case = has_pass_column_ && common.pass.empty() && figures.empty();
    if (common.outcome != Outcome::ok && is_of_whole_case) {
      result.outcome = common.outcome;
      result.reason = common.reason;
      return;
    }
    for (const std::string& metric : metrics_) {
      const auto known = figures.find(metric);
      const bool has_figures = known != figures.end();
      if (!has_figures && common.outcome == Outcome::ok) continue;
      Series series = has_figures ? std::move(known->second) : Series{};
      series.metric = metric;
      series.unit = unit_of_[metric];
      series.pass = common.pass;
      series.part = common.part;
      series.lane = common.lane;
      series.rank = common.rank;
      series.outcome = common.outcome;
      series.reason = common.reason;
      add_series(result, std::move(series), has_figures, row.front());
    }
  }

  std::vector<CaseResult> finish() {
    for (CaseResult& result : cases_) {
      set_key(result);
      if (result.outcome == Outcome::ok) set_outcome_from_series(result);
    }
    return std::move(cases_);
  }

 private:
  void read_cell(const CsvCell& cell, const CsvColumn& column, Parameters& parameters,
                 Series& common, std::map<std::string, Series>& figures) {
    switch (column.kind) {
      case Kind::pass:
        common.pass = cell.text;
        return;
      case Kind::part:
        common.part = cell.text;
        return;
      case Kind::lane:
        common.lane = cell.text;
        return;
      case Kind::rank:
        common.rank = read_rank(cell, problems_);
        return;
      case Kind::outcome:
        common.outcome = read_outcome(cell, problems_);
        return;
      case Kind::reason:
        common.reason = cell.text;
        return;
      case Kind::axis:
        if (Value value = axis_value(cell.text); value.index() != 0) {
          parameters[column.name] = std::move(value);
        }
        return;
      case Kind::figure:
        if (!cell.text.empty()) read_figure(cell, column, figures[column.name]);
        return;
      case Kind::words:
        if (!cell.text.empty()) figures[column.name].words = read_words(cell);
        return;
      case Kind::artefact:
        return;
    }
  }

  // A JSON list, or one word as it is.
  std::vector<std::string> read_words(const CsvCell& cell) {
    if (!cell.text.starts_with('[')) return {cell.text};
    const Result<nlohmann::json> list = parse_json(cell.text);
    std::vector<std::string> words;
    const bool good = list && list->is_array() &&
                      std::all_of(list->begin(), list->end(),
                                  [](const nlohmann::json& word) { return word.is_string(); });
    if (good) {
      list->get_to(words);
    } else {
      problems_.add(cell.line, cell.column, "several words are a JSON list of texts",
                    "such as [\"bf16\", \"fp32\"]");
    }
    return words;
  }

  void read_artefact(const CsvCell& cell, std::vector<Artefact>& artefacts) {
    if (cell.text.empty()) return;
    const Result<nlohmann::json> object = parse_json(cell.text);
    if (!object) return problems_.add(cell.line, cell.column, object.error());
    Result<Artefact> artefact = artefact_from_json(*object);
    if (!artefact) return problems_.add(cell.line, cell.column, artefact.error());
    artefacts.push_back(std::move(*artefact));
  }

  void read_figure(const CsvCell& cell, const CsvColumn& column, Series& series) {
    if (column.statistic == "samples") {
      series.samples = read_samples(cell, column.unit, problems_);
    } else if (const auto number = read_number(cell, cell.text, column.unit, problems_)) {
      series.statistics[column.statistic] = *number;
    }
  }

  CaseResult& case_with(Parameters parameters) {
    const auto [place, is_new] = case_places_.try_emplace(case_key_text(parameters), cases_.size());
    if (is_new) {
      CaseResult result;
      result.ordinal = static_cast<std::int64_t>(cases_.size());
      result.parameters = std::move(parameters);
      cases_.push_back(std::move(result));
    }
    return cases_[place->second];
  }

  // A series may appear once with figures, and without them in rows of another outcome.
  void add_series(CaseResult& result, Series series, bool has_figures, const CsvCell& at) {
    if (const auto value = series.statistics.find("value");
        value != series.statistics.end() && series.samples.empty()) {
      series.samples = {value->second};
    }
    if (!series.samples.empty()) drop_computed_statistics(series.statistics);
    if (const std::string wrong = what_is_wrong_with(series); !wrong.empty()) {
      return problems_.add(at.line, at.column, fmt::format("the series {}", wrong));
    }
    const std::string identity = fmt::format("{}\n{}\n{}\n{}\n{}\n{}", result.ordinal, series.pass,
                                             series.metric, series.part, series.lane, series.rank);
    const auto [place, is_new] = series_places_.try_emplace(
        identity, SeriesPlace{result.series.size(), at.line, has_figures});
    if (is_new) {
      result.series.push_back(std::move(series));
    } else if (has_figures && place->second.has_figures) {
      problems_.add(
          at.line, at.column,
          fmt::format("'{}' of this case, pass, part and rank appears twice", series.metric),
          fmt::format("the first is on line {}", place->second.line));
    } else if (has_figures) {
      result.series[place->second.index] = std::move(series);
      place->second.has_figures = true;
    }
  }

  struct SeriesPlace {
    std::size_t index;
    int line;
    bool has_figures;
  };

  std::vector<CsvColumn> columns_;
  Problems& problems_;
  std::map<std::string, std::string> unit_of_;
  bool has_pass_column_ = false;
  std::vector<std::string> metrics_;
  std::vector<CaseResult> cases_;
  std::unordered_map<std::string, std::size_t> case_places_;
  std::unordered_map<std::string, SeriesPlace> series_places_;
};

RunInfo info_of(const std::string& file_name, const ImportOptions& options) {
  const std::filesystem::path path(file_name);
  RunInfo info;
  info.name = options.run;
  info.experiment = options.experiment.empty() ? path.stem().string() : options.experiment;
  info.started = info.finished = options.when;
  info.first.provenance = {{"imported_from", path.filename().string()}};
  return info;
}

}  // namespace

Result<Run> import_csv(std::string_view text, const std::string& file_name,
                       const ImportOptions& options) {
  Problems problems(file_name);
  CsvReader reader(text, problems);
  CsvRow row;
  reader.next(row);
  const int header_line = row.empty() ? 1 : row.front().line;
  std::vector<CsvColumn> columns = read_header(row, problems);
  if (!problems.none()) return tl::unexpected(problems.error());
  CsvImport import_rows(std::move(columns), problems);
  bool has_rows = false;
  while (reader.next(row)) {
    has_rows = true;
    import_rows.add_row(row);
  }
  if (!has_rows) problems.add(header_line, 1, "a header and no rows");
  if (!problems.none()) return tl::unexpected(problems.error());
  return Run{info_of(file_name, options), import_rows.finish()};
}

}  // namespace assay::store
