#pragma once

#include "worker/case/case_runner.h"

namespace assay::worker {

// Verifies request.exchanged, the calls that another program has written to files, with the
// reference of the case's workload. Of each pass an `error` series is sent, whose outcome is
// `unsupported` where it cannot be verified here; and a `time` series with its outcome where it is
// wrong or its file is not what was agreed. Throws nothing; returns the worst of them.
Status verify_exchanges(PluginLoader& loader, const Placement& placement,
                        const wire::CaseRequest& request, const CaseSink& sink);

}  // namespace assay::worker
