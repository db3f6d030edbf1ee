#include "report/table/scaled_columns.h"

#include <cmath>
#include <map>
#include <set>

#include "base/text.h"
#include "report/spec/units.h"
#include "report/table/unit_lines.h"
#include "statistics/quantiles.h"

namespace assay::report {
namespace {

// What the columns that share a unit have in common; "": the column's unit is given.
std::string quantity_of(const Column& column) {
  const auto* measure = std::get_if<Measure>(&column.content);
  if (measure == nullptr || !measure->scaled) return {};
  const Condition* pass = measure->where.on("pass");
  return join({measure->metric, measure->rate ? measure->rate->count : "",
               pass == nullptr ? "" : join(pass->values, " ")},
              "|");
}

struct Figures {
  std::string unit;
  std::vector<double> sizes;  // without what stands behind a ±, where there is anything else
  std::vector<double> spreads;
};

void collect_figures(const Cell& cell, Figures& figures) {
  const bool figure = cell.kind == Cell::Kind::number || cell.kind == Cell::Kind::list;
  if (!figure || cell.unit.empty()) return;
  if (figures.unit.empty()) figures.unit = cell.unit;
  const auto add = [&](double number) {
    const double size = std::abs(convert(number, cell.unit, figures.unit));
    if (std::isfinite(size))
      (cell.is_uncertainty ? figures.spreads : figures.sizes).push_back(size);
  };
  if (cell.is_number()) add(cell.number);
  for (const double number : cell.list) add(number);
}

void show_in(const std::string& unit, Cell& cell) {
  if (cell.unit.empty()) return;
  if (cell.is_number()) cell.number = convert(cell.number, cell.unit, unit);
  for (double& number : cell.list) number = convert(number, cell.unit, unit);
  if (cell.uncertainty) cell.uncertainty = convert(*cell.uncertainty, cell.unit, unit);
  cell.unit = unit;
}

// The units of the scaled figures that the column shows.
std::set<std::string> units_of(const Grid& grid, std::size_t index) {
  const Column& column = grid.columns[index];
  std::set<std::string> units;
  if (const auto* joined = std::get_if<JoinContent>(&column.content)) {
    for (const std::string& part : joined->parts) {
      if (const auto at = grid.column(part)) units.merge(units_of(grid, *at));
    }
    return units;
  }
  if (quantity_of(column).empty()) return units;
  for (const GridRow& row : grid.rows) {
    if (!row.cells[index].unit.empty()) units.insert(row.cells[index].unit);
  }
  return units;
}

}  // namespace

void scale_columns(Grid& grid) {
  std::map<std::string, Figures> by_quantity;
  for (std::size_t i = 0; i < grid.columns.size(); ++i) {
    const std::string quantity = quantity_of(grid.columns[i]);
    if (quantity.empty()) continue;
    for (const GridRow& row : grid.rows) collect_figures(row.cells[i], by_quantity[quantity]);
  }
  for (std::size_t i = 0; i < grid.columns.size(); ++i) {
    const auto found = by_quantity.find(quantity_of(grid.columns[i]));
    if (found == by_quantity.end()) continue;
    const auto& [unit, sizes, spreads] = found->second;
    const std::vector<double>& deciding = sizes.empty() ? spreads : sizes;
    if (deciding.empty()) continue;
    const std::string shown = sensible_unit(statistics::median(deciding), unit);
    for (GridRow& row : grid.rows) show_in(shown, row.cells[i]);
  }
}

void name_scaled_columns(Grid& grid) {
  std::set<std::string> parts;  // keep their names, by which joined columns find them
  for (const Column& column : grid.columns) {
    const auto* joined = std::get_if<JoinContent>(&column.content);
    if (joined != nullptr) parts.insert(joined->parts.begin(), joined->parts.end());
  }
  std::map<std::size_t, std::string> names;
  for (std::size_t i = 0; i < grid.columns.size(); ++i) {
    if (!grid.columns[i].shown || parts.contains(grid.columns[i].name)) continue;
    const std::set<std::string> units = units_of(grid, i);
    if (units.size() != 1 || states_unit(grid.columns[i].name, *units.begin())) continue;
    names[i] = grid.columns[i].name + " [" + *units.begin() + "]";
  }
  for (auto& [index, name] : names) grid.columns[index].name = std::move(name);
}

}  // namespace assay::report
