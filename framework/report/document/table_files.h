#pragma once

#include <string>

#include "report/document/document.h"

namespace assay::report {

// A tabular for the package booktabs. Cells that are LaTeX already ($1.36 \cdot 10^{-2}s$) stay;
// others are escaped.
std::string latex_table(const TableSection& table);

// Numbers without separators of thousands. A last column `note` names the columns whose figure has
// a sign, where there are any.
std::string csv_table(const TableSection& table);

std::string csv_cell(const std::string& text);

}  // namespace assay::report
