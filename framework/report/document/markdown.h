#pragma once

#include <string>

#include "report/document/document.h"

namespace assay::report {

// In GitHub's dialect.
Result<std::string> to_markdown(const Document& document);

// Only tables, text blocks and the lines that explain signs, as plain text at most `width` columns
// wide (0: no limit).
std::string to_terminal(const Document& document, std::size_t width);

}  // namespace assay::report
