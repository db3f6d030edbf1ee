#pragma once

#include "report/data/records.h"
#include "report/picture/plot_data.h"
#include "report/spec/spec.h"

namespace assay::report {

// Rates of a pass over its operations per byte, under what the machine can do at most: for each
// case, the lower of its copy's ceiling times that intensity and its matrix products' ceiling
// (Williams, Waterman and Patterson, "Roofline", 2009). Points of one line differ in the spec's x.
// Without known ceilings there are no roofs.
Result<PlotData> roofline_data(const Records& records, const PlotSpec& spec,
                               const Filter& combination);

}  // namespace assay::report
