#pragma once

#include "report/table/grid.h"

namespace assay::report {

// Shows the figures of columns that name no unit (Measure::scaled) in the one that fits them.
// Columns of one metric and pass share it: a figure and its ±, the columns of a pivot.
void scale_columns(Grid& grid);

// Their unit becomes part of their name: "time [ms]", unless the name has it.
void name_scaled_columns(Grid& grid);

}  // namespace assay::report
