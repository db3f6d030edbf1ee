#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "report/document/table_files.h"
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

bool has_mark(const Cell& cell, const std::string& name) {
  return std::ranges::any_of(cell.marks,
                             [&](const store::Mark& mark) { return mark.mark == name; });
}

// The marks that every timed figure of the row has, of two figures or more: the row has their sign
// then, not each figure.
std::set<std::string> shared_marks(const Grid& grid, const GridRow& row) {
  std::vector<const Cell*> timed;
  for (std::size_t i = 0; i < row.cells.size(); ++i) {
    if (grid.columns[i].shown && row.cells[i].timed) timed.push_back(&row.cells[i]);
  }
  std::set<std::string> shared;
  if (timed.size() < 2) return shared;
  for (const store::Mark& mark : timed.front()->marks) {
    const bool in_all =
        std::ranges::all_of(timed, [&](const Cell* cell) { return has_mark(*cell, mark.mark); });
    if (in_all) shared.insert(mark.mark);
  }
  return shared;
}

// Of the row's name, its first shown column.
void sign_rows(const std::vector<std::set<std::string>>& shared, TableColumn& column) {
  if (std::ranges::all_of(shared, [](const auto& marks) { return marks.empty(); })) return;
  for (const auto& marks : shared) column.signs.push_back(marks.empty() ? "" : mark_sign);
}

void sign_figures(const Grid& grid, std::size_t index,
                  const std::vector<std::set<std::string>>& shared, TableColumn& column) {
  std::vector<std::string> signs;
  for (std::size_t row = 0; row < grid.rows.size(); ++row) {
    const bool own = std::ranges::any_of(
        grid.rows[row].cells[index].marks,
        [&](const store::Mark& mark) { return !shared[row].contains(mark.mark); });
    signs.push_back(own ? mark_sign : "");
  }
  if (std::ranges::all_of(signs, &std::string::empty)) return;
  column.signs = std::move(signs);
}

TableColumn index_column(std::size_t rows) {
  TableColumn column{"", {}, 'r', true};
  for (std::size_t i = 0; i < rows; ++i) column.cells.push_back(fmt::format("{}", i));
  return column;
}

struct TableFiles {
  const SideFiles& folder;
  int& number;
};

// Writes the other forms that the spec asks for.
Section files_of(const TableSection& table, const TableSpec& spec, TableFiles files) {
  if (files.folder.path.empty()) return Paragraph{"No file: this report has no folder for it."};
  const std::string name = fmt::format("{}table-{}", files.folder.prefix, ++files.number);
  Links links;
  std::error_code ignored;
  std::filesystem::create_directories(files.folder.path, ignored);
  for (const TableForm form : spec.forms) {
    const bool latex = form == TableForm::latex;
    links.paths.push_back(name + (latex ? ".tex" : ".csv"));
    const auto written = write_file((files.folder.path / links.paths.back()).string(),
                                    latex ? latex_table(table) : csv_table(table));
    if (!written) return Paragraph{"No file: " + written.error().text() + "."};
  }
  return links;
}

Result<void> add_table(const Records& records, const TableSpec& spec, const Filter& combination,
                       TableFiles files, std::vector<Section>& sections) {
  auto grid = build_grid(records, spec.grid, combination);
  if (!grid) return tl::unexpected(grid.error());
  if (!spec.title.empty()) sections.push_back(Heading{3, render_title(spec.title, combination)});
  if (!spec.grid.centre_note.empty()) sections.push_back(Paragraph{spec.grid.centre_note});
  TableSection table;
  if (spec.index) table.columns.push_back(index_column(grid->rows.size()));
  std::vector<std::set<std::string>> shared;
  for (const GridRow& row : grid->rows) shared.push_back(shared_marks(*grid, row));
  const bool named_rows = !grid->keys.empty();
  if (!named_rows) shared.assign(grid->rows.size(), {});
  for (std::size_t i = 0, shown = 0; i < grid->columns.size(); ++i) {
    if (!grid->columns[i].shown) continue;
    table.columns.push_back(written(*grid, i, spec.grid.cells));
    sign_figures(*grid, i, shared, table.columns.back());
    if (shown++ == 0 && named_rows) sign_rows(shared, table.columns.back());
  }
  table.marks = marks_of_cells(*grid);
  if (grid->rows.empty()) {
    const std::string why = unmet_conditions(records, spec.grid.where);
    sections.push_back(
        Paragraph{"No result matches this table" + (why.empty() ? "." : ": " + why + ".")});
  } else {
    std::optional<Section> other_forms;
    if (!spec.forms.empty()) other_forms = files_of(table, spec, files);
    sections.push_back(std::move(table));
    if (other_forms) sections.push_back(std::move(*other_forms));
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
  std::ranges::move(reasons(records, *grid, spec.grid), std::back_inserter(lines));
  if (!lines.empty()) sections.push_back(List{std::move(lines)});
  return {};
}

}  // namespace

void add_axis_columns(const std::vector<std::string>& axes, GridSpec& grid) {
  std::vector<Column> columns;
  for (const std::string& name : axes) {
    Column column;
    column.name = name;
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

Result<std::vector<Section>> table_sections(const Records& records, TableSpec spec,
                                            const SideFiles& files, int& number) {
  default_rows(records, spec.grid);
  auto repeats = combinations(records, spec.for_each, spec.grid.where);
  if (!repeats) return tl::unexpected(repeats.error());
  std::vector<Section> sections;
  for (const Filter& combination : *repeats) {
    if (auto done = add_table(records, spec, combination, {files, number}, sections); !done) {
      return tl::unexpected(done.error());
    }
  }
  return sections;
}

}  // namespace assay::report
