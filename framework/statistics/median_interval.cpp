#include "statistics/median_interval.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "statistics/distributions.h"
#include "statistics/quantiles.h"
#include "statistics/statistics.h"
#include "statistics/summary.h"

namespace assay::statistics {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// −1 below the median, 0 at it, 1 above it.
double sign_about(double median, double sample) {
  return static_cast<double>(sample > median) - static_cast<double>(sample < median);
}

// f of median_interval.h, at least 1.
double correlation_factor(double median, std::span<const double> samples) {
  double products = 0, squares = 0, last = 0;
  for (const double sample : samples) {
    const double here = sign_about(median, sample);
    products += last * here;
    squares += here * here;
    last = here;
  }
  if (products <= 0) return 1;
  const double correlation = products / squares;
  return (1 + correlation) / (1 - correlation);
}

// v of median_interval.h from `weights` cosines.
double long_run_inflation(const std::vector<double>& signs, std::size_t weights) {
  const auto n = static_cast<double>(signs.size());
  double variance = 0;
  for (const double sign : signs) variance += sign * sign / n;
  if (variance == 0) return 1;
  double squares = 0;
  for (std::size_t j = 1; j <= weights; ++j) {
    double sum = 0;
    for (std::size_t t = 0; t < signs.size(); ++t) {
      const double phase = static_cast<double>(j) * (static_cast<double>(t) + 0.5) / n;
      sum += signs[t] * std::cos(std::numbers::pi * phase);
    }
    squares += 2 / n * sum * sum;
  }
  return squares / static_cast<double>(weights) / variance;
}

// e² of median_interval.h.
double variance_by_order_statistics(const std::vector<double>& sorted) {
  const auto n = static_cast<double>(sorted.size());
  const auto low =
      static_cast<std::size_t>(std::max(0.0, std::floor((n + 1) / 2 - std::sqrt(n) + 0.5) - 1));
  const double z = normal_quantile(1 - binomial_at_most(low, sorted.size()));
  const double width = std::log(sorted[sorted.size() - 1 - low] / sorted[low]);
  return width * width / (4 * z * z);
}

}  // namespace

double MedianInterval::relative_reach() const {
  if (median <= 0) return infinity;
  return std::max(median - low, high - median) / median;
}

MedianInterval median_interval(std::span<const double> samples, double level) {
  if (samples.empty() || has_nan(samples)) return {};
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  const auto n = static_cast<double>(sorted.size());
  const double middle = (n - 1) / 2;
  MedianInterval interval;
  interval.median = at_place(sorted, middle);
  const double factor = correlation_factor(interval.median, samples);
  interval.at_level = std::exp2(1 - n / factor) <= 1 - level;
  double reach = middle;
  if (interval.at_level) {
    const auto k = static_cast<double>(outcomes_below((1 - level) / 2, sorted.size()));
    reach = std::min(reach, std::sqrt(factor) * ((n + 1) / 2 - k));
  }
  interval.low = at_place(sorted, middle - reach);
  interval.high = at_place(sorted, middle + reach);
  return interval;
}

double relative_half_width_of_median(std::span<const double> samples, double level) {
  const MedianInterval interval = median_interval(samples, level);
  if (std::isnan(interval.median)) return not_a_number;
  return interval.at_level ? interval.relative_reach() : infinity;
}

Variance variance_of_log_median(std::span<const double> samples) {
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  const double size = 0.4 * std::pow(static_cast<double>(samples.size()), 2.0 / 3.0);
  const auto weights = static_cast<std::size_t>(std::clamp(std::round(size), 2.0, 64.0));
  const double median = percentile(sorted, 50);
  std::vector<double> signs;
  signs.reserve(samples.size());
  for (const double sample : samples) signs.push_back(sign_about(median, sample));
  return {variance_by_order_statistics(sorted) * long_run_inflation(signs, weights),
          static_cast<double>(weights)};
}

}  // namespace assay::statistics
