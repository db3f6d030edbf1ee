#pragma once

#include <cstdint>

#include "store/records/records.h"

namespace assay::cli {

double calls_per_sample(const store::Parameters& parameters);

// Calls of a pass: those before the first sample, and those of the samples. With a target it takes
// as many samples as are given.
double calls_of_pass(const store::Parameters& parameters, std::int64_t samples_with_target);

// The seconds that a stored case spent in the calls of its passes.
double seconds_in_calls(const store::CaseResult& result);

}  // namespace assay::cli
