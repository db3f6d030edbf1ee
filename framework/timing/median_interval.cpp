#include "timing/median_interval.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace assay::timing {

namespace {
constexpr double infinity = std::numeric_limits<double>::infinity();

// Where the standard normal distribution leaves `tail` above: bisection, as precise as erfc.
double normal_quantile(double tail) {
  double low = 0, high = 10;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (std::erfc(middle / std::sqrt(2.0)) / 2 > tail ? low : high) = middle;
  }
  return (low + high) / 2;
}

// The value at a fractional place among ascending samples; places beyond the ends are the ends.
double at_place(const std::vector<double>& sorted, double place) {
  const double inside = std::clamp(place, 0.0, static_cast<double>(sorted.size() - 1));
  const auto below = static_cast<std::size_t>(inside);
  const double fraction = inside - static_cast<double>(below);
  if (fraction == 0) return sorted[below];
  return sorted[below] + fraction * (sorted[below + 1] - sorted[below]);
}

// −1 below the median, 0 at it, 1 above.
double side(double sample, double median) { return sample > median ? 1 : sample < median ? -1 : 0; }

// How many times more samples are needed than independent ones would be: 1 or more.
double correlation_factor(std::span<const double> samples, double median) {
  double products = 0, squares = 0, last = 0;
  for (const double sample : samples) {
    const double here = side(sample, median);
    products += last * here;
    squares += here * here;
    last = here;
  }
  if (products <= 0) return 1;
  const double correlation = products / squares;
  return (1 + correlation) / (1 - correlation);
}

}  // namespace

double relative_half_width_of_median(std::span<const double> samples, double level) {
  std::vector<double> sorted(samples.begin(), samples.end());
  if (sorted.empty() ||
      std::any_of(sorted.begin(), sorted.end(), [](double x) { return x != x; })) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  std::sort(sorted.begin(), sorted.end());
  const auto n = static_cast<double>(sorted.size());
  const double middle = (n - 1) / 2;
  const double median = at_place(sorted, middle);
  const double factor = correlation_factor(samples, median);
  // Not even between the smallest and the largest does the median lie with this certainty.
  if (median <= 0 || std::exp2(1 - n / factor) > 1 - level) return infinity;
  const double reach = normal_quantile((1 - level) / 2) * std::sqrt(n * factor) / 2 + 0.5;
  const double low = at_place(sorted, middle - reach);
  const double high = at_place(sorted, middle + reach);
  return std::max(median - low, high - median) / median;
}

}  // namespace assay::timing
