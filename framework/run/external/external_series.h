#pragma once

#include <nlohmann/json.hpp>

#include "wire/messages.h"

namespace assay::run {

// Whether a series that an external program printed fits its case: a requested pass, rank 0, a base
// unit, samples where it is ok, a time with the case's clock. The error is one sentence, the reason
// of the case's outcome.
Result<void> check_external_series(const store::Series& series, const wire::CaseRequest& request);

// How an external program took a time, as a case's facts say it (docs/measuring.md). A program with
// `measure.samples` samples was stopped by their count, another one by itself.
store::SamplingFacts sampling_of(const store::Series& time, const wire::CaseRequest& request);

// What a program says of its looks at the timed calls of `pass`, in the form of the facts: `looks`
// is empty where it says why there were none. The error is one sentence: a pass of another case,
// another level, no look and no reason, an error beyond its tolerance.
Result<store::TimedLooksFacts> looks_from_json(const nlohmann::json& json,
                                               const wire::CaseRequest& request);

}  // namespace assay::run
