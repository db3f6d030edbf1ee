#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/data/reduce.h"
#include "report/table/grid.h"

namespace assay::report {
namespace {

std::string key_text(const Records& records, const Grid& grid, const GridRow& row,
                     const Template::Field& field) {
  const auto at = std::find(grid.keys.begin(), grid.keys.end(), field.name);
  if (at == grid.keys.end()) return pad("", field.spec);
  const std::size_t i = static_cast<std::size_t>(at - grid.keys.begin());
  const Cell cell = Cell::of_value(records.axes()[grid.axes[i]].values[row.key[i]]);
  if (cell.is_number() && field.spec.shapes_number) return format_number(cell.number, field.spec);
  return pad(cell.text, field.spec);
}

}  // namespace

std::string field_text(const Records& records, const Grid& grid, const GridRow& row,
                       const Template::Field& field, const CellTexts& cells, bool with_signs) {
  if (const auto column = grid.column(field.name)) {
    const Cell& cell = row.cells[*column];
    return display(cell, grid.columns[*column], cells, field.spec,
                   with_signs && !cell.marks.empty() ? mark_sign : "");
  }
  if (field.name == "reason") return pad(row.reason, field.spec);
  if (field.name == "outcome") return pad(to_text(row.outcome), field.spec);
  return key_text(records, grid, row, field);
}

std::vector<const GridRow*> pointers_to(const std::vector<GridRow>& rows) {
  std::vector<const GridRow*> pointers;
  for (const GridRow& row : rows) pointers.push_back(&row);
  return pointers;
}

double aggregate(const std::vector<const GridRow*>& rows, const std::string& function,
                 std::size_t column) {
  std::vector<double> values;
  double logarithms = 0;
  for (const GridRow* row : rows) {
    const Cell& cell = row->cells[column];
    if (!cell.is_number()) continue;
    values.push_back(cell.number);
    logarithms += std::log(cell.number);
  }
  if (function == "count") return static_cast<double>(values.size());
  if (values.empty()) return std::nan("");
  if (function == "geomean") return std::exp(logarithms / static_cast<double>(values.size()));
  return reduce(values, statistic_from_text(function).value_or(Statistic::mean));
}

std::string render_over_rows(const Records& records, const Grid& grid,
                             const std::vector<const GridRow*>& rows, const Template& text,
                             const CellTexts& cells) {
  return text.render([&](const Template::Field& field) -> std::string {
    if (!field.function.empty()) {
      const auto column = grid.column(field.name);
      if (!column) return "";
      const double value = aggregate(rows, field.function, *column);
      if (std::isnan(value)) return pad("N/A", field.spec);
      if (field.spec.shapes_number || field.function == "count")
        return format_number(value, field.spec);
      const Cell& like = rows.front()->cells[*column];
      return pad(apply(grid.columns[*column].format, value, false, like.unit, false), field.spec,
                 '>');
    }
    return rows.empty() ? "" : field_text(records, grid, *rows.front(), field, cells);
  });
}

std::string note_text(const Records& records, const Grid& grid, const GridSpec& spec) {
  if (!spec.note || grid.omitted.empty()) return "";
  std::vector<std::string> items;
  for (const GridRow& row : grid.omitted) {
    items.push_back(spec.note->each.render([&](const Template::Field& field) {
      return field_text(records, grid, row, field, spec.cells);
    }));
  }
  std::string list;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const bool last = i + 1 == items.size() && !spec.note->last.empty();
    if (i > 0) list += last ? spec.note->last : spec.note->separator;
    list += items[i];
  }
  if (!spec.note->text) return list;
  return spec.note->text->render([&](const Template::Field& field) -> std::string {
    if (field.name == "rows") return list;
    if (field.name == "count") return fmt::format("{}", items.size());
    return field_text(records, grid, grid.omitted.front(), field, spec.cells);
  });
}

}  // namespace assay::report
