#include "store/exchange/csv_columns.h"

#include <assay/value.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <limits>
#include <map>
#include <utility>

#include "base/text.h"
#include "statistics/statistics.h"

namespace assay::store {
namespace {

using Kind = CsvColumn::Kind;

constexpr std::array<std::pair<std::string_view, Kind>, 5> fixed_columns{
    {{"pass", Kind::pass},
     {"part", Kind::part},
     {"rank", Kind::rank},
     {"outcome", Kind::outcome},
     {"reason", Kind::reason}}};

const std::vector<std::string>& known_statistics() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list{"value", "samples"};
    list.insert(list.begin() + 1, computed_statistics.begin(), computed_statistics.end());
    return list;
  }();
  return names;
}

bool is_statistic(std::string_view name) {
  const auto& names = known_statistics();
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_name(std::string_view text) {
  const auto fits = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '.' || c == '-';
  };
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text[0])) == 0 &&
         std::all_of(text.begin(), text.end(), fits);
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

std::optional<std::pair<std::string, std::string>> split_figure(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || dot == 0) return std::nullopt;
  return std::pair(std::string(name.substr(0, dot)), std::string(name.substr(dot + 1)));
}

void read_figure(const CsvCell& cell, std::size_t bracket, CsvColumn& column, Problems& problems) {
  const std::string_view text = cell.text;
  const std::string_view name = trim(text.substr(0, bracket));
  const auto parts = split_figure(name);
  if (text.back() != ']') {
    return problems.add(cell.line, cell.column,
                        fmt::format("'{}' does not end with its unit", text),
                        "write metric.statistic [unit], such as time.mean [ms]");
  }
  const std::string unit_text(trim(text.substr(bracket + 1, text.size() - bracket - 2)));
  if (!parts || !is_name(parts->first)) {
    return problems.add(cell.line, cell.column,
                        fmt::format("'{}' does not say which statistic", text),
                        fmt::format("write metric.statistic [unit], such as {}.mean [{}]",
                                    name.empty() ? "time" : name, unit_text));
  }
  column.kind = Kind::figure;
  column.name = parts->first;
  column.statistic = parts->second;
  if (!is_statistic(column.statistic)) {
    problems.add(cell.line, cell.column,
                 fmt::format("unknown statistic '{}'{}", column.statistic,
                             suggestion(column.statistic, known_statistics())));
  }
  if (const std::optional<Unit> unit = unit_named(unit_text)) {
    column.unit = *unit;
  } else {
    problems.add(
        cell.line, cell.column,
        fmt::format("unknown unit '{}'{}", unit_text, suggestion(unit_text, known_units())));
  }
}

CsvColumn read_column(const CsvCell& cell, Problems& problems) {
  CsvColumn column;
  column.name = cell.text;
  if (cell.text.empty()) {
    problems.add(cell.line, cell.column, "a column without a name",
                 "leave out a column of row numbers; name every other");
    return column;
  }
  if (cell.text == artefact_header) {
    column.kind = Kind::artefact;
    return column;
  }
  if (cell.text.ends_with(words_header) &&
      is_name(cell.text.substr(0, cell.text.size() - words_header.size()))) {
    column.kind = Kind::words;
    column.name = cell.text.substr(0, cell.text.size() - words_header.size());
    column.statistic = "words";
    return column;
  }
  for (const auto& [name, kind] : fixed_columns) {
    if (cell.text == name) column.kind = kind;
    if (cell.text != name && lower(cell.text) == name) {
      problems.add(cell.line, cell.column, fmt::format("'{}' is written '{}'", cell.text, name));
    }
  }
  if (column.kind != Kind::axis) return column;
  if (const std::size_t bracket = cell.text.find('['); bracket != std::string::npos) {
    read_figure(cell, bracket, column, problems);
    return column;
  }
  if (!is_name(cell.text)) {
    const bool other_separator = cell.text.find_first_of(";\t") != std::string::npos;
    problems.add(cell.line, cell.column, fmt::format("'{}' is not a name", cell.text),
                 other_separator ? "columns are separated by commas"
                                 : "a name has letters, digits, '_', '-' and '.'");
    return column;
  }
  const auto parts = split_figure(cell.text);
  // `measure.samples` is a setting.
  if (parts && is_statistic(parts->second) && parts->first != "measure") {
    column.kind = Kind::figure;
    column.name = parts->first;
    column.statistic = parts->second;
  }
  return column;
}

// Decimal, 0x… or 0o…; nullopt for any other text and beyond 64 bits.
std::optional<std::int64_t> integer_value(std::string_view magnitude, bool negative) {
  int base = 10;
  if (magnitude.substr(0, 2) == "0x") base = 16;
  if (magnitude.substr(0, 2) == "0o") base = 8;
  if (base != 10) magnitude.remove_prefix(2);
  if (magnitude.empty() || std::isxdigit(static_cast<unsigned char>(magnitude[0])) == 0) {
    return std::nullopt;
  }
  const std::string digits = fmt::format("{}{}", negative ? "-" : "", magnitude);
  std::int64_t integer = 0;
  const char* end = digits.data() + digits.size();
  const auto read = std::from_chars(digits.data(), end, integer, base);
  if (read.ec != std::errc{} || read.ptr != end) return std::nullopt;
  return integer;
}

// The "[count]" of `n` is the unit of the samples' number, not of the metric.
bool has_unit_of_metric(const CsvColumn& column) {
  return column.kind == Kind::figure && column.statistic != "n";
}

}  // namespace

std::vector<CsvColumn> read_header(const CsvRow& header, Problems& problems) {
  std::vector<CsvColumn> columns;
  std::map<std::pair<std::string, std::string>, int> seen;
  std::map<std::string, std::string> base_of_metric;
  bool has_result = false;
  for (const CsvCell& cell : header) {
    CsvColumn column = read_column(cell, problems);
    // Elsewhere `lane` is an axis.
    if (column.name == "lane" && !columns.empty() && columns.back().kind == Kind::part) {
      column.kind = Kind::lane;
    }
    has_result = has_result || column.kind == Kind::figure || column.kind == Kind::words ||
                 column.kind == Kind::outcome;
    const auto [first, is_new] =
        seen.try_emplace({column.name, column.statistic}, static_cast<int>(columns.size()) + 1);
    if (!is_new && !cell.text.empty()) {
      problems.add(cell.line, cell.column, fmt::format("'{}' appears twice", cell.text),
                   fmt::format("it is the same as column {}", first->second));
    }
    if (has_unit_of_metric(column)) {
      const auto [base, is_first] = base_of_metric.try_emplace(column.name, column.unit.base);
      if (!is_first && base->second != column.unit.base) {
        problems.add(cell.line, cell.column,
                     fmt::format("'{}' is in '{}' here and in '{}' before", column.name,
                                 column.unit.base, base->second),
                     "a metric has one dimension");
      }
    }
    columns.push_back(std::move(column));
  }
  if (!has_result && problems.none()) {
    problems.add(header.front().line, header.front().column, "no column holds a result",
                 "name one as metric.statistic [unit], such as time.mean [ms], or outcome");
  }
  return columns;
}

std::map<std::string, std::string> base_units(const std::vector<CsvColumn>& columns) {
  std::map<std::string, std::string> units;
  for (const CsvColumn& column : columns) {
    if (has_unit_of_metric(column)) units.try_emplace(column.name, column.unit.base);
  }
  for (const CsvColumn& column : columns) {
    if (column.kind == Kind::figure) units.try_emplace(column.name, "count");
  }
  return units;
}

Value axis_value(const std::string& text) {
  if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL") return {};
  if (text == "true" || text == "True" || text == "TRUE") return true;
  if (text == "false" || text == "False" || text == "FALSE") return false;
  const bool negative = text[0] == '-';
  const std::string unsigned_text = negative || text[0] == '+' ? text.substr(1) : text;
  if (const std::optional<std::int64_t> integer = integer_value(unsigned_text, negative)) {
    const bool signed_prefix = unsigned_text != text && unsigned_text.find_first_of("xo") == 1;
    if (!signed_prefix) return *integer;
  }
  if (const std::optional<double> real = parse_in_unit(text, Unit{})) return *real;
  const std::string special = lower(unsigned_text);
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (special == ".inf") return negative ? -infinity : infinity;
  if (lower(text) == ".nan") return statistics::not_a_number;
  return text;
}

}  // namespace assay::store
