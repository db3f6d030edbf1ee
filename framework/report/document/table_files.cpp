#include "report/document/table_files.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"

namespace assay::report {
namespace {

constexpr std::pair<std::string_view, std::string_view> in_latex[] = {{"\\", "\\textbackslash{}"},
                                                                      {"&", "\\&"},
                                                                      {"%", "\\%"},
                                                                      {"$", "\\$"},
                                                                      {"#", "\\#"},
                                                                      {"_", "\\_"},
                                                                      {"{", "\\{"},
                                                                      {"}", "\\}"},
                                                                      {"~", "\\textasciitilde{}"},
                                                                      {"^", "\\textasciicircum{}"},
                                                                      {"±", "$\\pm$"},
                                                                      {"×", "$\\times$"},
                                                                      {"†", "$\\dagger$"},
                                                                      {"µ", "$\\mu$"},
                                                                      {"μ", "$\\mu$"},
                                                                      {"✓", "$\\checkmark$"},
                                                                      {"\n", " "}};

bool is_latex(std::string_view cell) { return std::ranges::count(cell, '$') >= 2; }

std::string escaped(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const auto* special = std::ranges::find_if(
        in_latex, [&](const auto& one) { return text.starts_with(one.first); });
    if (special == std::end(in_latex)) {
      result += text.front();
      text.remove_prefix(1);
    } else {
      result += special->second;
      text.remove_prefix(special->first.size());
    }
  }
  return result;
}

char alignment(const TableColumn& column) {
  return column.align ? column.align : column.numeric ? 'r' : 'l';
}

std::string without_separators(std::string cell) {
  std::erase(cell, ',');
  return cell;
}

std::size_t rows_of(const TableSection& table) {
  return table.columns.empty() ? 0 : table.columns.front().cells.size();
}

const std::string& sign_at(const TableColumn& column, std::size_t row) {
  static const std::string none;
  return column.signs.empty() ? none : column.signs[row];
}

}  // namespace

std::string latex_table(const TableSection& table) {
  std::string alignments;
  std::vector<std::string> names;
  for (const TableColumn& column : table.columns) {
    alignments += alignment(column);
    names.push_back(escaped(column.name));
  }
  std::string text = "\\begin{tabular}{" + alignments + "}\n\\toprule\n" + join(names, " & ") +
                     " \\\\\n\\midrule\n";
  for (std::size_t row = 0; row < rows_of(table); ++row) {
    std::vector<std::string> cells;
    for (const TableColumn& column : table.columns) {
      const std::string& cell = column.cells[row];
      cells.push_back((is_latex(cell) ? cell : escaped(cell)) + escaped(sign_at(column, row)));
    }
    text += join(cells, " & ") + " \\\\\n";
  }
  return text + "\\bottomrule\n\\end{tabular}\n";
}

std::string csv_table(const TableSection& table) {
  const bool any_sign = std::ranges::any_of(
      table.columns, [](const TableColumn& column) { return !column.signs.empty(); });
  std::vector<std::string> names;
  for (const TableColumn& column : table.columns) names.push_back(csv_cell(column.name));
  if (any_sign) names.emplace_back("note");
  std::string text = join(names, ",") + "\n";
  for (std::size_t row = 0; row < rows_of(table); ++row) {
    std::vector<std::string> cells, noted;
    for (const TableColumn& column : table.columns) {
      const std::string& cell = column.cells[row];
      cells.push_back(csv_cell(column.numeric ? without_separators(cell) : cell));
      if (!sign_at(column, row).empty()) noted.push_back(column.name);
    }
    if (any_sign) cells.push_back(csv_cell(join(noted, " and ")));
    text += join(cells, ",") + "\n";
  }
  return text;
}

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string result = "\"";
  for (const char c : text) result += c == '"' ? std::string("\"\"") : std::string(1, c);
  return result + "\"";
}

}  // namespace assay::report
