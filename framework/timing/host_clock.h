#pragma once

namespace assay::timing {

// Seconds of a monotonic clock that nobody sets; its zero means nothing.
double host_now_s();

// The smallest time that two readings of it are apart: its step, or what a reading costs where that
// is more. Found out once, in some microseconds.
double host_clock_step_s();

}  // namespace assay::timing
