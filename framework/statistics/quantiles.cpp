#include "statistics/quantiles.h"

#include <algorithm>
#include <vector>

#include "statistics/statistics.h"

namespace assay::statistics {

double at_place(std::span<const double> sorted, double place) {
  const auto below = static_cast<std::size_t>(place);
  const double fraction = place - static_cast<double>(below);
  // Also avoids 0 · infinity.
  if (fraction == 0 || sorted[below] == sorted[below + 1]) return sorted[below];
  return sorted[below] + fraction * (sorted[below + 1] - sorted[below]);
}

double percentile(std::span<const double> sorted, double p) {
  if (sorted.empty()) return not_a_number;
  return at_place(sorted,
                  static_cast<double>(sorted.size() - 1) * std::clamp(p, 0.0, 100.0) / 100.0);
}

double median(std::span<const double> samples) {
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  return percentile(sorted, 50);
}

}  // namespace assay::statistics
