#pragma once

#include <optional>

#include "assay/outcome.h"

namespace assay::worker {

// Why the last kernel that could not be launched was refused, where shared memory, registers or
// threads were the reason: what it needs, and the limit. Each failure is told once.
//
// To know it, this library stands before the CUDA runtime's launch functions, the private
// __cudaLaunchKernel among them: CUDA 13 compiles `<<<…>>>` to that one, no public interface tells
// what a refused launch asked for, and CUPTI's callbacks would compete with the profiler for its
// one subscriber. A launch that succeeds costs one more jump, of about a nanosecond.
std::optional<Status> take_launch_failure();

}  // namespace assay::worker
