#pragma once

#include "wire/messages.h"

namespace assay::run {

// Whether a series that an external program printed is one of the case it was given: of a pass that
// was asked for, on rank 0, in a base unit, with samples where it is ok, the time taken with the
// case's clock. The error is one sentence, the reason of the case's outcome.
Result<void> check_external_series(const store::Series& series, const wire::CaseRequest& request);

}  // namespace assay::run
