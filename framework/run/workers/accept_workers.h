#pragma once

#include <string>
#include <vector>

#include "run/process/interrupt.h"
#include "run/workers/worker.h"

namespace assay::run {

// Waits until every worker, one a rank, has connected and shown the token; drops other connections
// (wire/arrivals.h).
// Returns the versions that rank 0 reports. interrupt may be null. Errors: a worker ended or was
// late, the user stops the run.
Result<store::Parameters> accept_workers(wire::Listener& listener, const std::string& token,
                                         std::vector<Worker>& workers, Interrupt* interrupt);

}  // namespace assay::run
