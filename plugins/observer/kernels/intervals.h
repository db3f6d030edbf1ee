#pragma once

#include <vector>

#include "events.h"

namespace assay::kernels {

// Sorted, without overlaps; intervals that touch become one.
std::vector<Interval> united(std::vector<Interval> intervals);
Nanoseconds total(const std::vector<Interval>& united);
// Of two united sets.
Nanoseconds common(const std::vector<Interval>& a, const std::vector<Interval>& b);

// A stretch of device work with the call that launched it.
struct Launched {
  Interval work;
  Interval launch;
  bool has_launch = false;
};

// Gaps in which a device does nothing, by what it waits for. As Holistic Trace Analysis splits
// them: the host, where the next work was launched only after the gap began; another kernel, where
// it had been launched before and the gap is at most `handover`; else other.
struct Idle {
  Nanoseconds host = 0;
  Nanoseconds kernel = 0;
  Nanoseconds other = 0;
  Nanoseconds total() const { return host + kernel + other; }
};

struct Occupation {
  Interval span;  // from the first work's begin to the last one's end
  Nanoseconds busy = 0;
  Idle idle;  // busy and idle are the span
};

Occupation occupation(std::vector<Launched> work, Nanoseconds handover);

}  // namespace assay::kernels
