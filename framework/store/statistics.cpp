#include "store/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

namespace assay::store {
namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

bool has_nan(std::span<const double> samples) {
  return std::any_of(samples.begin(), samples.end(), [](double x) { return std::isnan(x); });
}

double mean_of(std::span<const double> samples) {
  return std::accumulate(samples.begin(), samples.end(), 0.0) / static_cast<double>(samples.size());
}

// Reorders its argument.
double median_of(std::vector<double>& samples) {
  const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::nth_element(samples.begin(), middle, samples.end());
  if (samples.size() % 2 == 1) return *middle;
  return std::midpoint(*std::max_element(samples.begin(), middle), *middle);
}

template <class Statistic>
Interval bootstrap(std::span<const double> samples, std::uint64_t seed, int resamples, double level,
                   Statistic statistic) {
  if (samples.empty() || resamples < 1 || has_nan(samples)) return {not_a_number, not_a_number};
  // std::uniform_int_distribution differs between standard libraries; the generator does not.
  std::mt19937_64 generator(seed);
  std::vector<double> drawn(samples.size());
  std::vector<double> statistics(static_cast<std::size_t>(resamples));
  for (double& value : statistics) {
    for (double& sample : drawn) {
      const std::uint64_t bits = generator() >> 32;
      sample = samples[static_cast<std::size_t>((bits * samples.size()) >> 32)];
    }
    value = statistic(drawn);
  }
  std::sort(statistics.begin(), statistics.end());
  const double tail = 50.0 * (1.0 - level);
  return {percentile(statistics, tail), percentile(statistics, 100.0 - tail)};
}

}  // namespace

double percentile(std::span<const double> sorted, double p) {
  if (sorted.empty()) return not_a_number;
  const double position =
      static_cast<double>(sorted.size() - 1) * std::clamp(p, 0.0, 100.0) / 100.0;
  const auto below = static_cast<std::size_t>(position);
  const double fraction = position - static_cast<double>(below);
  // Also keeps an infinite neighbour out of a figure that does not depend on it.
  if (fraction == 0 || sorted[below] == sorted[below + 1]) return sorted[below];
  return sorted[below] + fraction * (sorted[below + 1] - sorted[below]);
}

Summary summarise(std::span<const double> samples) {
  Summary summary;
  summary.n = samples.size();
  if (samples.empty() || has_nan(samples)) {
    summary.mean = summary.std_sample = summary.std_population = summary.median = not_a_number;
    summary.p5 = summary.p95 = summary.q1 = summary.q3 = not_a_number;
    summary.min = summary.max = not_a_number;
    return summary;
  }
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  const auto n = static_cast<double>(samples.size());
  summary.mean = mean_of(samples);
  double squares = 0;
  for (const double sample : samples) squares += (sample - summary.mean) * (sample - summary.mean);
  summary.std_population = std::sqrt(squares / n);
  summary.std_sample = samples.size() > 1 ? std::sqrt(squares / (n - 1)) : not_a_number;
  summary.median = percentile(sorted, 50);
  summary.p5 = percentile(sorted, 5);
  summary.p95 = percentile(sorted, 95);
  summary.q1 = percentile(sorted, 25);
  summary.q3 = percentile(sorted, 75);
  summary.min = sorted.front();
  summary.max = sorted.back();
  return summary;
}

Interval bootstrap_mean(std::span<const double> samples, std::uint64_t seed, int resamples,
                        double level) {
  return bootstrap(samples, seed, resamples, level,
                   [](std::vector<double>& drawn) { return mean_of(drawn); });
}

Interval bootstrap_median(std::span<const double> samples, std::uint64_t seed, int resamples,
                          double level) {
  return bootstrap(samples, seed, resamples, level, median_of);
}

}  // namespace assay::store
