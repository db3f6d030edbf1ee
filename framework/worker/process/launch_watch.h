#pragma once

#include <optional>

#include "assay/outcome.h"

namespace assay::worker {

// Why the last kernel launch was refused, if for shared memory, registers or threads: what the
// kernel needs, and the limit. Each failure is reported once.
// This library interposes the CUDA runtime's launch functions, the private __cudaLaunchKernel among
// them: CUDA 13 compiles `<<<…>>>` to it, no public interface tells what a refused launch asked
// for, and CUPTI's callbacks would compete with the profiler for its one subscriber. A successful
// launch costs one more jump, about a nanosecond.
std::optional<Status> take_launch_failure();

}  // namespace assay::worker
