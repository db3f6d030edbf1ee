#pragma once

#include "worker/case/case_runner.h"

namespace assay::worker {

// Verifies request.exchanged, calls that another program has written to files, with the reference
// of the case's workload. Sends an `error` series for each pass, with outcome `unsupported` where
// it cannot be verified here. A wrong pass or a malformed file also gets a `time` series with its
// outcome. Throws nothing; returns the worst outcome.
Status verify_exchanges(PluginLoader& loader, const Placement& placement,
                        const wire::CaseRequest& request, const CaseSink& sink);

}  // namespace assay::worker
