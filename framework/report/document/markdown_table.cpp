#include "report/document/markdown_table.h"

#include <algorithm>

#include "base/printable.h"
#include "base/text.h"
#include "report/document/inert.h"

namespace assay::report {
namespace {

constexpr std::size_t header_margin = 2;

std::string spaces(std::size_t count) { return std::string(count, ' '); }

std::string aligned(const std::string& text, std::size_t width, char align) {
  const std::size_t length = display_width(text);
  const std::size_t missing = width > length ? width - length : 0;
  if (align == 'r') return spaces(missing) + text;
  if (align == 'c') return spaces(missing / 2) + text + spaces(missing - missing / 2);
  return text + spaces(missing);
}

// Digits after the point; -1 for whole numbers, so that "7" stands left of the column of points.
int places_after_point(const std::string& text) {
  std::size_t point = text.rfind('.');
  if (point == std::string::npos) point = text.find_first_of("eE");
  if (point == std::string::npos) return -1;
  return static_cast<int>(text.size() - point) - 1;
}

// Pads cells on the right to align their points; signs follow the last digit. `signs` may be empty.
std::vector<std::string> on_the_point(const std::vector<std::string>& cells,
                                      const std::vector<std::string>& signs) {
  int most = -1;
  std::size_t widest = 0;
  for (const std::string& cell : cells) most = std::max(most, places_after_point(cell));
  for (const std::string& sign : signs) widest = std::max(widest, display_width(sign));
  std::vector<std::string> result;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string sign = signs.empty() ? "" : signs[i];
    const auto missing = static_cast<std::size_t>(most - places_after_point(cells[i]));
    result.push_back(cells[i] + sign + spaces(missing + widest - display_width(sign)));
  }
  return result;
}

struct LaidOut {
  std::string header;
  std::vector<std::string> cells;
  std::size_t width;
  char align;
};

LaidOut lay_out(const TableColumn& column, std::size_t margin, bool escape) {
  LaidOut laid;
  laid.align = column.align ? column.align : column.numeric ? 'r' : 'l';
  laid.header = escape ? escape_cell(column.name) : printable_line(column.name);
  for (const std::string& cell : column.cells)
    laid.cells.push_back(escape ? escape_cell(cell) : printable_line(cell));
  if (column.numeric && laid.align == 'r') {
    laid.cells = on_the_point(laid.cells, column.signs);
  } else {
    for (std::size_t i = 0; i < column.signs.size(); ++i) laid.cells[i] += column.signs[i];
  }
  laid.width = display_width(laid.header) + margin;
  for (const std::string& cell : laid.cells) laid.width = std::max(laid.width, display_width(cell));
  return laid;
}

std::string rule(const LaidOut& column) {
  const std::string dashes(column.width, '-');
  if (column.align == 'r') return "-" + dashes + ":";
  if (column.align == 'c') return ":" + dashes + ":";
  return ":" + dashes + "-";
}

std::string trimmed_right(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

std::string block_of(const std::vector<const LaidOut*>& columns, std::size_t rows) {
  std::string header, text;
  for (const LaidOut* column : columns) {
    header += (header.empty() ? "" : "  ") + aligned(column->header, column->width, column->align);
  }
  text = trimmed_right(header) + "\n";
  for (std::size_t row = 0; row < rows; ++row) {
    std::string line;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      line +=
          (i ? "  " : "") + aligned(columns[i]->cells[row], columns[i]->width, columns[i]->align);
    }
    text += trimmed_right(line) + "\n";
  }
  return text;
}

}  // namespace

std::string escape_cell(const std::string& text) {
  std::string escaped;
  std::size_t backslashes = 0;  // right before
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const char before = i > 0 ? text[i - 1] : '\0';
    const bool link =
        before == ']' && c == '(' && !is_harmless_target(std::string_view(text).substr(i + 1));
    const bool image = before == '!' && c == '[';
    if (c == '|' || c == '<' || link || image) {
      // A backslash of the text's own would escape the one that is added.
      escaped.append(backslashes, '\\');
      escaped += '\\';
    }
    backslashes = c == '\\' ? backslashes + 1 : 0;
    escaped += c == '\n' || c == '\r' ? ' ' : c;
  }
  return escaped;
}

std::string markdown_table(const TableSection& table) {
  std::vector<LaidOut> columns;
  for (const TableColumn& column : table.columns)
    columns.push_back(lay_out(column, header_margin, true));
  if (columns.empty()) return "";
  std::string header = "|", rules = "|", text;
  for (const LaidOut& column : columns) {
    header += " " + aligned(column.header, column.width, column.align) + " |";
    rules += rule(column) + "|";
  }
  text = header + "\n" + rules + "\n";
  for (std::size_t row = 0; row < columns.front().cells.size(); ++row) {
    text += '|';
    for (const LaidOut& column : columns) {
      text += " " + aligned(column.cells[row], column.width, column.align) + " |";
    }
    text += '\n';
  }
  return text;
}

std::string terminal_table(const TableSection& table, std::size_t width) {
  std::vector<LaidOut> columns;
  for (const TableColumn& column : table.columns) columns.push_back(lay_out(column, 0, false));
  if (columns.empty()) return "";
  const std::size_t rows = columns.front().cells.size();
  std::string text;
  for (std::size_t next = 0; next < columns.size();) {
    std::vector<const LaidOut*> chosen;
    std::size_t used = 0;
    if (next > 0) {
      chosen.push_back(&columns.front());
      used = columns.front().width;
    }
    const std::size_t first = next;
    while (next < columns.size() &&
           (next == first || width == 0 || used + 2 + columns[next].width <= width)) {
      used += (chosen.empty() ? 0 : 2) + columns[next].width;
      chosen.push_back(&columns[next++]);
    }
    text += (first > 0 ? "\n" : "") + block_of(chosen, rows);
  }
  return text;
}

}  // namespace assay::report
