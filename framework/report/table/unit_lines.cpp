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

// Headers spell units out, too.
const std::map<std::string_view, std::string_view> words = {
    {"s", "seconds"},     {"ms", "millisecond"}, {"us", "microsecond"}, {"µs", "microsecond"},
    {"ns", "nanosecond"}, {"byte", "Byte"},      {"KiB", "kibibyte"},   {"MiB", "mebibyte"},
    {"GiB", "gibibyte"},  {"KB", "kilobyte"},    {"MB", "megabyte"},    {"GB", "gigabyte"},
    {"%", "percent"}};

// As a word: "avg_ms" and "[ms]" name milliseconds, "items" does not.
bool names(std::string_view text, std::string_view unit) {
  const auto letter = [&](std::size_t at) {
    return at < text.size() && std::isalpha(static_cast<unsigned char>(text[at])) != 0;
  };
  const auto ends = [&](std::size_t at) { return !letter(at) && text.substr(at, 1) != "/"; };
  for (auto at = text.find(unit); at != std::string_view::npos; at = text.find(unit, at + 1)) {
    if ((at == 0 || !letter(at - 1)) && ends(at + unit.size())) return true;
  }
  return false;
}

bool says(std::string_view text, const std::string& unit) {
  if (names(text, unit)) return true;
  const auto word = words.find(unit);
  return word != words.end() &&
         (names(text, word->second) || names(text, std::string(word->second) + "s"));
}

bool written(const Format& format, const std::string& unit) {
  return format.carries_unit() || says(format.before, unit) || says(format.after, unit);
}

void collect(const Grid& grid, std::size_t column, std::set<std::string>& units);

void collect_joined(const Grid& grid, const JoinContent& join, std::set<std::string>& units) {
  for (const std::string& part : join.parts) {
    if (const auto column = grid.column(part)) collect(grid, *column, units);
  }
}

// The units of its figures, without those that its format writes.
void collect(const Grid& grid, std::size_t column, std::set<std::string>& units) {
  const Column& one = grid.columns[column];
  if (const auto* join = std::get_if<JoinContent>(&one.content)) {
    return collect_joined(grid, *join, units);
  }
  for (const GridRow& row : grid.rows) {
    const Cell& cell = row.cells[column];
    const bool figure = cell.kind == Cell::Kind::number || cell.kind == Cell::Kind::list;
    if (!figure || cell.unit.empty() || cell.unit == "count") continue;
    if (!written(one.format, cell.unit)) units.insert(cell.unit);
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
      if (!says(name, unit)) columns[unit].push_back(name);
    }
  }
  std::vector<std::string> lines;
  for (const auto& [unit, names] : columns) {
    lines.push_back(fmt::format("**{}** in {}", escape_cell(join(names, ", ")), unit));
  }
  return lines;
}

}  // namespace assay::report
