#pragma once

#include "measure/clock.h"

namespace assay::measure {

// Both time work of the current CUDA stream, and what joins it, on the current device.
std::unique_ptr<Clock> make_cuda_event_clock(TimedCalls timed);
std::unique_ptr<Clock> make_cuda_graph_clock(TimedCalls timed);

}  // namespace assay::measure
