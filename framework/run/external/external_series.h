#pragma once

#include "wire/messages.h"

namespace assay::run {

// Whether a series that an external program printed is one of the case it was given: of a pass that
// was asked for, on rank 0, in a base unit, with samples where it is ok, the time taken with the
// case's clock. The error is one sentence, the reason of the case's outcome.
Result<void> check_external_series(const store::Series& series, const wire::CaseRequest& request);

// How such a time was taken, as the facts of the case say it (docs/measuring.md): how
// many samples, what ended them and how well their median is known. The protocol knows no target: a
// program that took `samples` was stopped by their count, another one by itself.
store::SamplingFacts sampling_of(const store::Series& time, const wire::CaseRequest& request);

}  // namespace assay::run
