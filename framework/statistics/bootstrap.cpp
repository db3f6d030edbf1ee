#include "statistics/bootstrap.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "statistics/quantiles.h"
#include "statistics/summary.h"

namespace assay::statistics {
namespace {

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

Interval bootstrap_mean(std::span<const double> samples, std::uint64_t seed, int resamples,
                        double level) {
  return bootstrap(samples, seed, resamples, level, mean);
}

Interval bootstrap_median(std::span<const double> samples, std::uint64_t seed, int resamples,
                          double level) {
  return bootstrap(samples, seed, resamples, level, median_of);
}

}  // namespace assay::statistics
