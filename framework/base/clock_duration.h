#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>

namespace assay {

// Seconds as a clock counts them. More than three years are three years: a deadline that far away
// must not overflow. NaN counts as none.
inline std::chrono::steady_clock::duration clock_duration(double seconds) {
  constexpr double longest = 1e8;
  const double bounded = std::isnan(seconds) ? 0 : std::clamp(seconds, -longest, longest);
  return std::chrono::duration_cast<std::chrono::steady_clock::duration>(
      std::chrono::duration<double>(bounded));
}

}  // namespace assay
