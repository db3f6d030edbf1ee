#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>

namespace assay {

// Seconds as a clock's duration, at most three years either way so that a deadline cannot overflow.
// NaN becomes 0.
inline std::chrono::steady_clock::duration clock_duration(double seconds) {
  constexpr double longest = 1e8;
  const double bounded = std::isnan(seconds) ? 0 : std::clamp(seconds, -longest, longest);
  return std::chrono::duration_cast<std::chrono::steady_clock::duration>(
      std::chrono::duration<double>(bounded));
}

// Now, in seconds of the machine's CLOCK_MONOTONIC.
inline double monotonic_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace assay
