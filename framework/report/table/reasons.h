#pragma once

#include <string>
#include <vector>

#include "report/table/grid.h"

namespace assay::report {

// One line for each outcome and reason that cells of the grid have, for cells that are blank or not
// defined, for times that nobody has verified, and for each kind of mark: how many cells that are
// shown, in which rows, and why. Rows named by a note are left out. Without `reasons` in the spec
// only the unverified times and the marks are told: they look like any other. signed_figures: the
// figures with marks have a sign, so that a few of their rows are enough.
std::vector<std::string> reasons(const Records& records, const Grid& grid, const GridSpec& spec,
                                 bool signed_figures);

// One line for each way in which the grid's rates were derived: the columns, and their formula.
std::vector<std::string> formulas(const Grid& grid, const GridSpec& spec);

// "attention is naive or flash, not 'falsh'" for each condition that no value of its axis meets;
// "".
std::string unmet_conditions(const Records& records, const Filter& where);

}  // namespace assay::report
