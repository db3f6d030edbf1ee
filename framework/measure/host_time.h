#pragma once

#include <time.h>

namespace assay::measure {

// Seconds of a monotonic clock with an arbitrary zero. std::chrono would call it through the C++
// library, whose table of functions anybody may write to.
inline double host_now_s() {
  timespec now = {};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace assay::measure
