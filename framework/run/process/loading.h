#pragma once

#include "base/error.h"
#include "run/process/process.h"

namespace assay::run {

// Limits the time a worker takes to load or to list the plugins: a duration such as "10 min";
// 2 minutes by default.
inline constexpr const char* load_timeout_variable = "ASSAY_LOAD_TIMEOUT";

// The limits of time and memory. ExitCode::bad_input where a variable cannot be read.
Result<Bounds> bounds_of_loading();

}  // namespace assay::run
