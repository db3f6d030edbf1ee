#pragma once

#include <set>
#include <string>
#include <vector>

#include "report/table/grid.h"

namespace assay::report {

// One line for each outcome and reason among the cells, each reason of blank or undefined cells,
// and each reason of unverified times: the number of shown cells, their rows and the reason. Rows
// that a note names are left out. Without `reasons` in the spec only unverified times have lines.
std::vector<std::string> reasons(const Records& records, const Grid& grid, const GridSpec& spec);

// The marks of the shown cells, which the report's section "Data quality" explains.
std::set<std::string> marks_of_cells(const Grid& grid);

// One line for each formula of the grid's rates, with its columns.
std::vector<std::string> formulas(const Grid& grid, const GridSpec& spec);

// "attention is naive or flash, not 'falsh'" for each condition without a value that meets it.
std::string unmet_conditions(const Records& records, const Filter& where);

}  // namespace assay::report
