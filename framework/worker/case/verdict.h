#pragma once

#include <assay/workload.h>

namespace assay::worker {

// ok, or `wrong` with the sentence that says what is off by how much. What was not checked is ok.
Status verdict(const Verification& verification);

}  // namespace assay::worker
