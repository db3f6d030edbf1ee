#include "report/table/reasons.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "report/document/document.h"
#include "report/document/markdown_table.h"

namespace assay::report {
namespace {

constexpr std::size_t rows_named = 100;

struct Cause {
  Outcome outcome;
  std::string word;  // the line's beginning
  std::string reason;
  bool always = false;  // shown even without `reasons` in the spec
  bool alike = false;   // also stands for reasons with other numbers
  std::size_t cells = 0;
  std::vector<std::string> rows;
};

std::string row_name(const Records& records, const Grid& grid, const GridRow& row) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < grid.keys.size(); ++i) {
    const std::string text = to_text(records.axes()[grid.axes[i]].values[row.key[i]]);
    if (!text.empty()) parts.push_back(grid.keys[i] + " " + text);
  }
  return join(parts, ", ");
}

std::string text_for(const std::string& key, const std::string& usual, const GridSpec& spec) {
  const auto text = spec.cells.find(key);
  return text == spec.cells.end() || text->second.empty() ? usual : text->second;
}

std::vector<Cause> causes_of(const Cell& cell, const GridSpec& spec) {
  std::vector<Cause> causes;
  if (cell.kind == Cell::Kind::outcome) {
    const std::string outcome(to_text(cell.outcome));
    const auto text = spec.cells.find(outcome);
    const bool discarded = !cell.discarded.empty();
    causes.push_back({cell.outcome,
                      text != spec.cells.end() ? text->second
                      : discarded              ? cell.discarded
                                               : outcome,
                      cell.reason, false});
  } else if (cell.kind == Cell::Kind::undefined && !cell.reason.empty()) {
    causes.push_back({Outcome::ok, text_for("undefined", "N/A", spec), cell.reason, false});
  } else if (cell.kind == Cell::Kind::missing && !cell.reason.empty()) {
    causes.push_back({Outcome::ok, text_for("missing", "blank", spec), cell.reason, false});
  } else if (!cell.unverified.empty()) {
    causes.push_back({Outcome::ok, "not verified", cell.unverified, true});
  }
  return causes;
}

bool alike(const Cause& a, const Cause& b) {
  return a.outcome == b.outcome && a.word == b.word &&
         without_numbers(a.reason) == without_numbers(b.reason);
}

bool contains(const Cause& cause, const std::vector<Cause>& causes) {
  return std::any_of(causes.begin(), causes.end(),
                     [&](const Cause& known) { return alike(known, cause); });
}

// A cell counts once for reasons that differ in their numbers alone, such as those of two GPUs.
void add(const std::vector<Cause>& of_cell, const std::string& row, std::vector<Cause>& causes) {
  std::vector<std::size_t> counted;
  for (const Cause& one : of_cell) {
    auto cause = std::find_if(causes.begin(), causes.end(),
                              [&](const Cause& known) { return alike(known, one); });
    if (cause == causes.end()) cause = causes.insert(cause, one);
    const auto place = static_cast<std::size_t>(cause - causes.begin());
    cause->alike = cause->alike || cause->reason != one.reason;
    if (std::count(counted.begin(), counted.end(), place) > 0) continue;
    counted.push_back(place);
    ++cause->cells;
    if (!row.empty() && (cause->rows.empty() || cause->rows.back() != row)) {
      cause->rows.push_back(row);
    }
  }
}

// Axis columns have no reasons; outcome columns repeat those of the measured cells.
bool has_reasons(const Column& column) {
  return !std::holds_alternative<AxisContent>(column.content) &&
         !std::holds_alternative<OutcomeContent>(column.content);
}

// Hidden columns add reasons that shown cells of the row lack, but none of blank or undefined
// cells.
void collect(const Records& records, const Grid& grid, const GridSpec& spec,
             const std::vector<GridRow>& rows, std::vector<Cause>& causes) {
  for (const GridRow& row : rows) {
    const std::string name = row_name(records, grid, row);
    std::vector<Cause> said;
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      if (!grid.columns[i].shown || !has_reasons(grid.columns[i])) continue;
      const std::vector<Cause> of_cell = causes_of(row.cells[i], spec);
      add(of_cell, name, causes);
      said.insert(said.end(), of_cell.begin(), of_cell.end());
    }
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      const Cell::Kind kind = row.cells[i].kind;
      if (grid.columns[i].shown || !has_reasons(grid.columns[i])) continue;
      if (kind == Cell::Kind::missing || kind == Cell::Kind::undefined) continue;
      std::vector<Cause> of_cell = causes_of(row.cells[i], spec);
      std::erase_if(of_cell, [&](const Cause& cause) { return contains(cause, said); });
      add(of_cell, name, causes);
      said.insert(said.end(), of_cell.begin(), of_cell.end());
    }
  }
}

std::string named_rows(const Cause& cause) {
  const std::size_t named = std::min(rows_named, cause.rows.size());
  std::string rows =
      join({cause.rows.begin(), cause.rows.begin() + static_cast<std::ptrdiff_t>(named)}, "; ");
  const std::size_t more = cause.rows.size() - named;
  if (more > 0) rows += fmt::format("; and {} more row{}", more, more == 1 ? "" : "s");
  return rows.empty() ? "" : ": " + escape_cell(rows);
}

}  // namespace

std::set<std::string> marks_of_cells(const Grid& grid) {
  std::set<std::string> marks;
  for (const GridRow& row : grid.rows) {
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      if (!grid.columns[i].shown) continue;
      for (const store::Mark& mark : row.cells[i].marks) marks.insert(mark.mark);
    }
  }
  return marks;
}

std::vector<std::string> reasons(const Records& records, const Grid& grid, const GridSpec& spec) {
  std::vector<Cause> causes;
  collect(records, grid, spec, grid.rows, causes);
  if (!spec.note) collect(records, grid, spec, grid.omitted, causes);
  std::vector<std::string> lines;
  for (const Cause& cause : causes) {
    if (!spec.reasons && !cause.always) continue;
    lines.push_back(fmt::format(
        "**{}** ({} cell{}{}): {}", cause.word, cause.cells, cause.cells == 1 ? "" : "s",
        named_rows(cause),
        cause.reason.empty() ? "no reason was given"
                             : (cause.alike ? "for example, " : "") + escape_cell(cause.reason)));
  }
  return lines;
}

std::vector<std::string> formulas(const Grid& grid, const GridSpec& spec) {
  std::vector<std::pair<std::string, std::vector<std::string>>> columns_by_formula;
  for (std::size_t i = 0; spec.formulas && i < grid.columns.size(); ++i) {
    const std::string name = shown_name(grid.columns[i].name);
    for (const GridRow& row : grid.rows) {
      const std::string& formula = row.cells[i].formula;
      if (formula.empty()) continue;
      const auto known = std::find_if(columns_by_formula.begin(), columns_by_formula.end(),
                                      [&](const auto& one) { return one.first == formula; });
      auto& columns =
          known == columns_by_formula.end()
              ? columns_by_formula.emplace_back(formula, std::vector<std::string>()).second
              : known->second;
      if (std::find(columns.begin(), columns.end(), name) == columns.end()) columns.push_back(name);
    }
  }
  std::vector<std::string> lines;
  for (const auto& [formula, columns] : columns_by_formula) {
    lines.push_back(fmt::format("**{}** = {}", escape_cell(join(columns, ", ")), formula));
  }
  return lines;
}

std::string unmet_conditions(const Records& records, const Filter& where) {
  std::vector<std::string> sentences;
  for (const Condition& condition : where.conditions) {
    const auto axis = records.axis(condition.axis);
    if (!axis) continue;
    std::vector<std::string> known;
    bool met = false;
    for (const Value& value : records.axes()[*axis].values) {
      const auto names = [&](const std::string& text) { return names_value(text, value); };
      met = met || std::any_of(condition.values.begin(), condition.values.end(), names);
      if (const std::string text = to_text(value); !text.empty()) known.push_back(text);
    }
    if (met) continue;
    sentences.push_back(fmt::format("{} is {}, not '{}'", condition.axis, join(known, " or "),
                                    join(condition.values, " or ")));
  }
  return join(sentences, "; ");
}

}  // namespace assay::report
