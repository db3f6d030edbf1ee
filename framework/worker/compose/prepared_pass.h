#pragma once

#include <functional>
#include <string>

#include "measure/clock.h"
#include "worker/compose/composition.h"

namespace assay::worker {

// Readies one pass of a built program for repeated calls, with the case's compile variant.
Status prepare(const Composition& composition, ProgramBoundary& program, const std::string& pass,
               GuardedStep& step);

// The step's calls, which throw; `step` must outlive them. tracer: told of each call; may be null.
measure::Call call_of(const GuardedStep& step, measure::Tracer* tracer);

// Seconds until the device has finished `work`.
double waited_s(const at::Device& device, const std::function<void()>& work);

}  // namespace assay::worker
