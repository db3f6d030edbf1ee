#pragma once

#include <vector>

#include "config/experiment.h"
#include "config/read/request.h"

namespace assay::config {

// Joins the axes of each `zip` entry into one, in place of the first. A value of one may stand
// there several times, beside others of the rest.
void tie_axes(const Request& request, std::vector<Axis>& matrix, Diagnostics& diagnostics);

}  // namespace assay::config
