#include "store/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

namespace assay::store {
namespace {

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

// Sorts, and counts the pairs that stood in descending order.
double count_descending(std::vector<double>& values) {
  std::vector<double> merged(values.size());
  double descending = 0;
  for (std::size_t width = 1; width < values.size(); width *= 2) {
    for (std::size_t begin = 0; begin < values.size(); begin += 2 * width) {
      const std::size_t middle = std::min(begin + width, values.size());
      const std::size_t end = std::min(begin + 2 * width, values.size());
      std::size_t left = begin, right = middle;
      for (std::size_t i = begin; i < end; ++i) {
        if (right == end || (left < middle && values[left] <= values[right])) {
          merged[i] = values[left++];
        } else {
          descending += static_cast<double>(middle - left);
          merged[i] = values[right++];
        }
      }
    }
    values.swap(merged);
  }
  return descending;
}

double two_sided_p(double z) { return std::erfc(std::abs(z) / std::sqrt(2.0)); }

double lag_one_autocorrelation(std::span<const double> samples) {
  const double mean = mean_of(samples);
  double products = 0, squares = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const double deviation = samples[i] - mean;
    squares += deviation * deviation;
    if (i + 1 < samples.size()) products += deviation * (samples[i + 1] - mean);
  }
  return products / squares;
}

// Equal ones have the mean of their places.
std::vector<double> ranks_of(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t i, std::size_t j) { return values[i] < values[j]; });
  std::vector<double> ranks(values.size());
  for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    const double rank = std::midpoint(static_cast<double>(begin), static_cast<double>(end - 1));
    for (std::size_t i = begin; i < end; ++i) ranks[order[i]] = rank;
  }
  return ranks;
}

// Of what is left of the samples without their trend, from third to third; not below 0.
double correlation_beside_the_trend(std::span<const double> samples) {
  constexpr std::size_t fewest = 10;
  constexpr double rounding = 1e-9;
  const std::size_t third = samples.size() / 3;
  if (samples.size() < fewest) return 0;
  std::vector<double> first(samples.begin(), samples.begin() + static_cast<std::ptrdiff_t>(third));
  std::vector<double> last(samples.end() - static_cast<std::ptrdiff_t>(third), samples.end());
  const auto n = static_cast<double>(samples.size());
  const double slope =
      (median_of(last) - median_of(first)) / static_cast<double>(samples.size() - third);
  std::vector<double> rest(samples.begin(), samples.end());
  for (std::size_t i = 0; i < rest.size(); ++i) rest[i] -= slope * static_cast<double>(i);
  const auto [low, high] = std::minmax_element(rest.begin(), rest.end());
  const auto [least, most] = std::minmax_element(samples.begin(), samples.end());
  if (*high - *low <= rounding * (*most - *least)) return 0;
  const double correlation = lag_one_autocorrelation(ranks_of(rest));
  return std::clamp(correlation + (1 + 4 * correlation) / n, 0.0, 0.99);
}

// How much larger the variance of S is for samples whose correlation of lag i is that of lag 1 to
// the power of i.
double trend_inflation(std::span<const double> samples) {
  const double correlation = correlation_beside_the_trend(samples);
  const auto n = static_cast<double>(samples.size());
  double sum = 0, power = 1;
  for (double i = 1; i < n - 2 && power > 1e-12; ++i) {
    power *= correlation;
    sum += (n - i) * (n - i - 1) * (n - i - 2) * power;
  }
  return 1 + 2 * sum / (n * (n - 1) * (n - 2));
}

double trend_p(std::span<const double> samples) {
  std::vector<double> sorted(samples.begin(), samples.end());
  const double descending = count_descending(sorted);
  const auto n = static_cast<double>(sorted.size());
  double equal_pairs = 0;
  double variance = n * (n - 1) * (2 * n + 5);
  for (auto group = sorted.begin(); group != sorted.end();) {
    const auto end = std::upper_bound(group, sorted.end(), *group);
    const auto t = static_cast<double>(end - group);
    equal_pairs += t * (t - 1) / 2;
    variance -= t * (t - 1) * (2 * t + 5);
    group = end;
  }
  const double s = n * (n - 1) / 2 - equal_pairs - 2 * descending;
  return two_sided_p(std::max(std::abs(s) - 1, 0.0) /
                     std::sqrt(variance / 18 * trend_inflation(samples)));
}

double drift_between_thirds(std::span<const double> samples) {
  const std::size_t third = samples.size() / 3;
  std::vector<double> first(samples.begin(), samples.begin() + static_cast<std::ptrdiff_t>(third));
  std::vector<double> last(samples.end() - static_cast<std::ptrdiff_t>(third), samples.end());
  const double before = median_of(first);
  return before == 0 ? not_a_number : median_of(last) / before - 1;
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
    summary.p5 = summary.p95 = summary.q1 = summary.q3 = summary.iqr = not_a_number;
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
  summary.iqr = summary.q3 - summary.q1;
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

SampleOrder examine_order(std::span<const double> samples) {
  constexpr double significance = 0.01;
  constexpr double least_drift = 0.01;
  SampleOrder order{not_a_number, false, not_a_number, not_a_number, false};
  const auto is_finite = [](double x) { return std::isfinite(x); };
  if (samples.size() < 3 || !std::all_of(samples.begin(), samples.end(), is_finite)) return order;
  const auto [least, most] = std::minmax_element(samples.begin(), samples.end());
  if (*least == *most) return order;
  const auto n = static_cast<double>(samples.size());
  order.autocorrelation = lag_one_autocorrelation(samples);
  order.autocorrelated = two_sided_p((order.autocorrelation + 1 / n) * std::sqrt(n)) < significance;
  order.drift = drift_between_thirds(samples);
  order.trend_p = trend_p(samples);
  order.drifting = order.trend_p < significance && std::abs(order.drift) >= least_drift;
  return order;
}

}  // namespace assay::store
