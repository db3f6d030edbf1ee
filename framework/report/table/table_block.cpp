#include <fmt/format.h>

#include <algorithm>

#include "report/table/grid.h"
#include "report/table/pivot.h"
#include "report/table/reasons.h"
#include "report/table/table.h"
#include "report/table/unit_lines.h"

namespace assay::report {
namespace {

// Numbers if every cell is one; otherwise text with full digits.
TableColumn written(const Grid& grid, std::size_t index, const CellTexts& cells) {
  const Column& column = grid.columns[index];
  TableColumn result{column.name, {}, column.align, true};
  bool any = false;
  for (const GridRow& row : grid.rows) {
    result.cells.push_back(display(row.cells[index], column, cells, false));
    any = any || !result.cells.back().empty();
    if (!result.cells.back().empty() && !looks_like_number(result.cells.back()))
      result.numeric = false;
  }
  result.numeric = result.numeric && any;
  if (!result.numeric) {
    result.cells.clear();
    for (const GridRow& row : grid.rows) {
      result.cells.push_back(display(row.cells[index], column, cells, true));
    }
  }
  return result;
}

void add_signs(const Grid& grid, std::size_t index, TableColumn& column) {
  const auto marked = [&](const GridRow& row) { return !row.cells[index].marks.empty(); };
  if (std::none_of(grid.rows.begin(), grid.rows.end(), marked)) return;
  for (const GridRow& row : grid.rows) column.signs.push_back(marked(row) ? mark_sign : "");
}

TableColumn index_column(std::size_t rows) {
  TableColumn column{"", {}, 'r', true};
  for (std::size_t i = 0; i < rows; ++i) column.cells.push_back(fmt::format("{}", i));
  return column;
}

Result<void> add_table(const Records& records, const TableSpec& spec, const Filter& combination,
                       std::vector<Section>& sections) {
  auto grid = build_grid(records, spec.grid, combination);
  if (!grid) return tl::unexpected(grid.error());
  if (!spec.title.empty()) sections.push_back(Heading{3, render_title(spec.title, combination)});
  TableSection table;
  if (spec.index) table.columns.push_back(index_column(grid->rows.size()));
  for (std::size_t i = 0; i < grid->columns.size(); ++i) {
    if (!grid->columns[i].shown) continue;
    table.columns.push_back(written(*grid, i, spec.grid.cells));
    add_signs(*grid, i, table.columns.back());
  }
  if (grid->rows.empty()) {
    const std::string why = unmet_conditions(records, spec.grid.where);
    sections.push_back(
        Paragraph{"No result matches this table" + (why.empty() ? "." : ": " + why + ".")});
  } else {
    sections.push_back(std::move(table));
  }
  for (const Template& line : spec.summary) {
    sections.push_back(Paragraph{
        render_over_rows(records, *grid, pointers_to(grid->rows), line, spec.grid.cells)});
  }
  if (std::string note = note_text(records, *grid, spec.grid); !note.empty()) {
    sections.push_back(Paragraph{std::move(note)});
  }
  std::vector<std::string> lines = unit_lines(*grid);
  std::ranges::move(formulas(*grid, spec.grid), std::back_inserter(lines));
  std::ranges::move(reasons(records, *grid, spec.grid, true), std::back_inserter(lines));
  if (!lines.empty()) sections.push_back(List{std::move(lines)});
  return {};
}

}  // namespace

void add_axis_columns(const std::vector<std::string>& axes, GridSpec& grid) {
  std::vector<Column> columns;
  for (const std::string& name : axes) {
    Column column;
    column.name = name;
    column.format.kind = Format::Kind::plain;
    column.content = AxisContent{name, ""};
    grid.keys.push_back(name);
    columns.push_back(std::move(column));
  }
  const auto after_axes = std::find_if(
      grid.columns.begin(), grid.columns.end(),
      [](const Column& column) { return !std::holds_alternative<AxisContent>(column.content); });
  grid.columns.insert(after_axes, columns.begin(), columns.end());
}

void default_rows(const Records& records, GridSpec& grid) {
  if (!grid.varying_rows) return;
  std::vector<std::string> axes;
  for (std::size_t axis = std::size(series_axes); axis < records.first_derived(); ++axis) {
    const std::string& name = records.axes()[axis].name;
    const Condition* chosen = grid.where.on(name);
    const bool spread = std::any_of(
        grid.pivots.begin(), grid.pivots.end(),
        [&](const Pivot& pivot) { return std::count(pivot.by.begin(), pivot.by.end(), name) > 0; });
    if (!records.varies(axis) || spread || (chosen && chosen->values.size() == 1)) continue;
    axes.push_back(name);
  }
  add_axis_columns(axes, grid);
  grid.varying_rows = false;
}

Result<std::vector<Section>> table_sections(const Records& records, TableSpec spec) {
  default_rows(records, spec.grid);
  auto repeats = combinations(records, spec.for_each, spec.grid.where);
  if (!repeats) return tl::unexpected(repeats.error());
  std::vector<Section> sections;
  for (const Filter& combination : *repeats) {
    if (auto done = add_table(records, spec, combination, sections); !done) {
      return tl::unexpected(done.error());
    }
  }
  return sections;
}

}  // namespace assay::report
