#pragma once

#include <string>
#include <vector>

#include "report/document/document.h"

namespace assay::report {

// A pipe table in the layout of pandas: a column is as wide as its header plus two or its longest
// cell; `|---:|` over numbers, `|:---|` over text. The last row ends in a newline.
std::string markdown_table(const TableSection& table);

// The same columns without rules and pipes, two spaces apart. Columns beyond `width` continue
// below, after the first column again. 0: no limit.
std::string terminal_table(const TableSection& table, std::size_t width);

// Escapes the characters that would end a cell or open an HTML tag.
std::string escape_cell(const std::string& text);

}  // namespace assay::report
