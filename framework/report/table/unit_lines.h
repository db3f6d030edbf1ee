#pragma once

#include <string>
#include <vector>

#include "report/table/grid.h"

namespace assay::report {

// "**mean, median** in us": one line for each unit of shown columns whose header and cells omit it.
// Templates state their own units.
std::vector<std::string> unit_lines(const Grid& grid);

}  // namespace assay::report
