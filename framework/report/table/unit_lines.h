#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/table/grid.h"

namespace assay::report {

// "**mean, median** in us": one line for each unit of shown columns whose header and cells omit it.
// Templates state their own units.
std::vector<std::string> unit_lines(const Grid& grid);

// Whether the unit is a word of the text: "time [ms]", "avg_ms", "milliseconds".
bool states_unit(std::string_view text, const std::string& unit);

}  // namespace assay::report
