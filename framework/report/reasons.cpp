#include "report/reasons.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "report/findings.h"
#include "report/markdown_table.h"

namespace assay::report {
namespace {

constexpr std::size_t rows_named = 4;

struct Cause {
  Outcome outcome;
  bool undefined;  // a rate that could not be derived
  std::string reason;
  bool alike = false;  // stands for reasons that differ in figures only
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

void collect(const Records& records, const Grid& grid, const std::vector<GridRow>& rows,
             std::vector<Cause>& causes) {
  for (const GridRow& row : rows) {
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      const Cell& cell = row.cells[i];
      const bool failed = cell.kind == Cell::Kind::outcome;
      const bool undefined = cell.kind == Cell::Kind::undefined && !cell.reason.empty();
      if ((!failed && !undefined && cell.unverified.empty()) ||
          !std::holds_alternative<Measure>(grid.columns[i].content)) {
        continue;
      }
      const std::string& reason = failed || undefined ? cell.reason : cell.unverified;
      const std::string kind = without_numbers(reason);
      auto cause = std::find_if(causes.begin(), causes.end(), [&](const Cause& known) {
        return known.outcome == cell.outcome && known.undefined == undefined &&
               without_numbers(known.reason) == kind;
      });
      if (cause == causes.end()) {
        causes.push_back({cell.outcome, undefined, reason, false, 0, {}});
        cause = std::prev(causes.end());
      }
      cause->alike = cause->alike || cause->reason != reason;
      ++cause->cells;
      std::string name = row_name(records, grid, row);
      if (!name.empty() && (cause->rows.empty() || cause->rows.back() != name)) {
        cause->rows.push_back(std::move(name));
      }
    }
  }
}

}  // namespace

std::vector<std::string> reasons(const Records& records, const Grid& grid, const GridSpec& spec) {
  std::vector<Cause> causes;
  collect(records, grid, grid.rows, causes);
  if (!spec.note) collect(records, grid, grid.omitted, causes);
  std::vector<std::string> lines;
  for (const Cause& cause : causes) {
    const bool is_number = cause.outcome == Outcome::ok && !cause.undefined;
    if (!spec.reasons && !is_number) continue;
    const std::size_t named = std::min(rows_named, cause.rows.size());
    std::string rows =
        join({cause.rows.begin(), cause.rows.begin() + static_cast<std::ptrdiff_t>(named)}, "; ");
    if (cause.rows.size() > named)
      rows += fmt::format("; and {} more rows", cause.rows.size() - named);
    if (!rows.empty()) rows = ": " + escape_cell(rows);
    const std::string key = cause.undefined ? "undefined" : std::string(to_text(cause.outcome));
    const auto text = spec.cells.find(key);
    const std::string shown = is_number                  ? "not verified"
                              : text != spec.cells.end() ? text->second
                              : cause.undefined          ? "N/A"
                                                         : key;
    lines.push_back(fmt::format(
        "**{}** ({} cell{}{}): {}", shown, cause.cells, cause.cells == 1 ? "" : "s", rows,
        cause.reason.empty() ? "no reason was given"
                             : (cause.alike ? "such as: " : "") + escape_cell(cause.reason)));
  }
  return lines;
}

std::vector<std::string> formulas(const Grid& grid, const GridSpec& spec) {
  std::vector<std::pair<std::string, std::vector<std::string>>> columns_by_formula;
  for (std::size_t i = 0; spec.formulas && i < grid.columns.size(); ++i) {
    // A figure of several statistics is made of hidden columns, "MFU#0".
    const std::string name = grid.columns[i].name.substr(0, grid.columns[i].name.find('#'));
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
