#pragma once

#include <functional>
#include <string>

#include "store/records.h"
#include "worker/composition.h"

namespace assay::worker {

// Holds one pass of the case against its workload's reference, on memory of its own. `measured`
// takes the metric `error`, also of a pass that fails. ok where the workload verifies nothing of
// it.
Status verify_pass(const Composition& composition, const std::string& pass,
                   const std::function<void(store::Series series)>& measured);

}  // namespace assay::worker
