#include "report/table/unit_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "base/text.h"
#include "report/document/markdown_table.h"

namespace assay::report {
namespace {

const std::map<std::string_view, std::string_view> spelled_out = {
    {"s", "seconds"},     {"ms", "millisecond"}, {"us", "microsecond"}, {"µs", "microsecond"},
    {"ns", "nanosecond"}, {"byte", "Byte"},      {"KiB", "kibibyte"},   {"MiB", "mebibyte"},
    {"GiB", "gibibyte"},  {"KB", "kilobyte"},    {"MB", "megabyte"},    {"GB", "gigabyte"},
    {"%", "percent"}};

// Whether the unit is a word of the text, as in "avg_ms" and "[ms]" but not in "items".
bool has_word(std::string_view text, std::string_view unit) {
  const auto letter = [&](std::size_t at) {
    return at < text.size() && std::isalpha(static_cast<unsigned char>(text[at])) != 0;
  };
  const auto ends = [&](std::size_t at) { return !letter(at) && text.substr(at, 1) != "/"; };
  for (auto at = text.find(unit); at != std::string_view::npos; at = text.find(unit, at + 1)) {
    if ((at == 0 || !letter(at - 1)) && ends(at + unit.size())) return true;
  }
  return false;
}

}  // namespace

bool states_unit(std::string_view text, const std::string& unit) {
  if (has_word(text, unit)) return true;
  const auto word = spelled_out.find(unit);
  return word != spelled_out.end() &&
         (has_word(text, word->second) || has_word(text, std::string(word->second) + "s"));
}

namespace {

bool writes(const Format& format, const std::string& unit) {
  return format.carries_unit() || states_unit(format.before, unit) ||
         states_unit(format.after, unit);
}

void collect(const Grid& grid, std::size_t column, std::set<std::string>& units);

void collect_joined(const Grid& grid, const JoinContent& join, std::set<std::string>& units) {
  for (const std::string& part : join.parts) {
    if (const auto column = grid.column(part)) collect(grid, *column, units);
  }
}

// Collects the units of the column's figures that its format omits.
void collect(const Grid& grid, std::size_t column, std::set<std::string>& units) {
  const Column& spec = grid.columns[column];
  if (const auto* join = std::get_if<JoinContent>(&spec.content)) {
    return collect_joined(grid, *join, units);
  }
  for (const GridRow& row : grid.rows) {
    const Cell& cell = row.cells[column];
    const bool figure = cell.kind == Cell::Kind::number || cell.kind == Cell::Kind::list;
    if (!figure || cell.unit.empty() || cell.unit == "count") continue;
    if (!writes(spec.format, cell.unit)) units.insert(cell.unit);
  }
}

}  // namespace

std::vector<std::string> unit_lines(const Grid& grid) {
  std::map<std::string, std::vector<std::string>> columns;
  for (std::size_t i = 0; i < grid.columns.size(); ++i) {
    if (!grid.columns[i].shown) continue;
    const std::string name = shown_name(grid.columns[i].name);
    std::set<std::string> units;
    collect(grid, i, units);
    for (const std::string& unit : units) {
      if (!states_unit(name, unit)) columns[unit].push_back(name);
    }
  }
  std::vector<std::string> lines;
  for (const auto& [unit, names] : columns) {
    lines.push_back(fmt::format("**{}** in {}", escape_cell(join(names, ", ")), unit));
  }
  return lines;
}

}  // namespace assay::report
