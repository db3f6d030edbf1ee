#pragma once

#include "config/experiment.h"

namespace assay::config {

// The number of cases before `exclude`, with those of `include`; SIZE_MAX on overflow.
std::size_t count_cases(const Experiment& experiment);

// What the cases do not hold of the matrix's axes, because it is a default: name → value.
std::map<std::string, Value> values_left_out(const Experiment& experiment);

// An error without a place if count_cases exceeds the experiment's limit.
std::optional<Diagnostic> over_limit(const Experiment& experiment);

}  // namespace assay::config
