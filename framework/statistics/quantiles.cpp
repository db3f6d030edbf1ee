#include "statistics/quantiles.h"

#include <algorithm>
#include <array>
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
  if (samples.empty()) return not_a_number;
  std::vector<double> values(samples.begin(), samples.end());
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  const std::array pair{*std::max_element(values.begin(), middle), *middle};
  return at_place(pair, 0.5);
}

}  // namespace assay::statistics
