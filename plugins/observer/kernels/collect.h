#pragma once

#include <assay/observer.h>

#include "events.h"

namespace assay::kernels {

// Operators and ranges that are kept at most, of all steps together: what comes after the limit is
// not seen, nor its kernels.
constexpr std::int64_t most_operators = 200'000;
// Growth of the process beyond that at which the device is no longer recorded. The records of
// kernels follow those of their launches, of some 50 bytes each, and what is made of both takes 4
// KiB a launch.
constexpr std::int64_t most_recorded_bytes = std::int64_t{20} << 20;

// Takes as many steps of the pass as it allows, under LibTorch's profiler (Kineto). Stops asking
// for steps where the next one would exceed the limit. Throws what the pass throws; the profiler is
// off then.
Events collect(const ObservedPass& observed, std::int64_t limit = most_operators);

}  // namespace assay::kernels
