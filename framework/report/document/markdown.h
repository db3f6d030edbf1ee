#pragma once

#include <string>

#include "report/document/document.h"

namespace assay::report {

// As GitHub renders it.
Result<std::string> to_markdown(const Document& document);

// Tables and text blocks with what explains their signs only, in plain text `width` columns wide
// (0: as wide as they are).
std::string to_terminal(const Document& document, std::size_t width);

}  // namespace assay::report
