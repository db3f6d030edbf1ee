#pragma once

#include "config/experiment.h"

namespace assay::config {

// Cases of the matrix before anything is excluded, with the include entries; SIZE_MAX where the
// product does not fit.
std::size_t count_cases(const Experiment& experiment);

// What is wrong, without a place, when that is more than the experiment's case limit.
std::optional<Diagnostic> over_limit(const Experiment& experiment);

}  // namespace assay::config
