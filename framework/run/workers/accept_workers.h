#pragma once

#include <string>
#include <vector>

#include "run/workers/interrupt.h"
#include "run/workers/worker.h"

namespace assay::run {

// Waits until each worker, one a rank, has connected and shown the token. Connections of others are
// dropped; one that says nothing holds nobody up. Errors: a worker ended or was late, the user
// wants to stop now. interrupt may be null. Returns the versions that rank 0 reports.
Result<store::Parameters> accept_workers(wire::Listener& listener, const std::string& token,
                                         std::vector<Worker>& workers, Interrupt* interrupt);

}  // namespace assay::run
