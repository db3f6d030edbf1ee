#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "run/process/host_memory.h"
#include "run/process/interrupt.h"
#include "run/workers/worker.h"

namespace assay::run {

// Fails where the workers, as far as they have started, hold more memory than they may
// (is_out_of_memory()). Returns the time to the next look, at most.
Result<std::chrono::milliseconds> within_memory(const MemoryGuard& guard,
                                                const std::vector<Worker>& workers);

// Waits until every worker, one a rank, has connected and shown the token; drops other connections
// (wire/arrivals.h).
// Returns the versions that rank 0 reports. interrupt may be null. Errors: a worker ended or was
// late, host memory ran out, the user stops the run.
Result<store::Parameters> accept_workers(wire::Listener& listener, const std::string& token,
                                         std::vector<Worker>& workers, Interrupt* interrupt);

}  // namespace assay::run
