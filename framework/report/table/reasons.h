#pragma once

#include <string>
#include <vector>

#include "report/table/grid.h"

namespace assay::report {

// One line for each outcome and reason among the cells, each reason of blank or undefined cells,
// each reason of unverified times, and each kind of mark: the number of shown cells, their rows and
// the reason. Rows that a note names are left out. Without `reasons` in the spec only unverified
// times and marks have lines. signed_figures: marked figures show a sign, so few rows are named.
std::vector<std::string> reasons(const Records& records, const Grid& grid, const GridSpec& spec,
                                 bool signed_figures);

// One line for each formula of the grid's rates, with its columns.
std::vector<std::string> formulas(const Grid& grid, const GridSpec& spec);

// "attention is naive or flash, not 'falsh'" for each condition without a value that meets it.
std::string unmet_conditions(const Records& records, const Filter& where);

}  // namespace assay::report
