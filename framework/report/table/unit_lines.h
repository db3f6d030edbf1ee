#pragma once

#include <string>
#include <vector>

#include "report/table/grid.h"

namespace assay::report {

// "**mean, median** in us": one line for each unit that shown columns are in while neither their
// header nor their cells say so. What a template writes is left to its author.
std::vector<std::string> unit_lines(const Grid& grid);

}  // namespace assay::report
