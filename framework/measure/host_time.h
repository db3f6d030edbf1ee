#pragma once

#include <chrono>

namespace assay::measure {

// Seconds of a monotonic clock with an arbitrary zero.
inline double host_now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace assay::measure
