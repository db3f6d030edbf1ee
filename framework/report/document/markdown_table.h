#pragma once

#include <string>
#include <vector>

#include "report/document/document.h"

namespace assay::report {

// A pipe table as data frames print them: each column as wide as its header and two, or its longest
// cell; `|---:|` over numbers, `|:---|` over text. A row a line, the last ending in a newline.
std::string markdown_table(const TableSection& table);

// The same columns without rules and pipes, two spaces apart. Where the lines would be longer than
// `width`, the table goes on below, its first column repeated. 0: as wide as it is.
std::string terminal_table(const TableSection& table, std::size_t width);

// Characters that Markdown or HTML would take for its own inside a cell.
std::string escape_cell(const std::string& text);

}  // namespace assay::report
