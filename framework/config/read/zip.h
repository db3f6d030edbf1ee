#pragma once

#include <vector>

#include "config/experiment.h"
#include "config/read/request.h"

namespace assay::config {

// Makes one axis of those each `zip` entry ties together, at the place of the first of them.
void tie_axes(const Request& request, std::vector<Axis>& matrix, Diagnostics& diagnostics);

}  // namespace assay::config
