#pragma once

#include "measure/clock.h"
#include "store/records/parameters.h"
#include "timing/sampling.h"

namespace assay::worker {

// How a case's `measure` asks for samples, taken by `clock`.
timing::SamplingSettings sampling_settings(const store::Parameters& parameters,
                                           const measure::Clock& clock);

}  // namespace assay::worker
