#pragma once

#include "base/error.h"
#include "run/workers/process.h"

namespace assay::run {

// How long a worker may take to load, or to look at the plugins: a duration such as "10 min"; 2
// minutes without it.
inline constexpr const char* load_timeout_variable = "ASSAY_LOAD_TIMEOUT";

// That, and the limit of memory. ExitCode::bad_input where the environment's cannot be read.
Result<Bounds> bounds_of_loading();

}  // namespace assay::run
