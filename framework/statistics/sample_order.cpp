#include "statistics/sample_order.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "statistics/distributions.h"
#include "statistics/quantiles.h"
#include "statistics/statistics.h"
#include "statistics/summary.h"

namespace assay::statistics {
namespace {

// Sorts the values and returns the number of pairs in descending order.
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

double lag_one_autocorrelation(std::span<const double> samples) {
  const double mean = statistics::mean(samples);
  double products = 0, squares = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const double deviation = samples[i] - mean;
    squares += deviation * deviation;
    if (i + 1 < samples.size()) products += deviation * (samples[i + 1] - mean);
  }
  return products / squares;
}

// Equal values share the mean of their places.
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

// Of the first ⌊n/3⌋ samples and of the last.
std::pair<double, double> medians_of_thirds(std::span<const double> samples) {
  const std::size_t third = samples.size() / 3;
  return {median(samples.first(third)), median(samples.last(third))};
}

// The lag-1 rank correlation ρ of sample_order.h; the trend is that between the thirds.
double correlation_beside_the_trend(std::span<const double> samples) {
  constexpr std::size_t fewest = 10;
  constexpr double rounding = 1e-9;
  if (samples.size() < fewest) return 0;
  const auto [first, last] = medians_of_thirds(samples);
  const double slope = (last - first) / static_cast<double>(samples.size() - samples.size() / 3);
  std::vector<double> rest(samples.begin(), samples.end());
  for (std::size_t i = 0; i < rest.size(); ++i) rest[i] -= slope * static_cast<double>(i);
  const auto [low, high] = std::minmax_element(rest.begin(), rest.end());
  const auto [least, most] = std::minmax_element(samples.begin(), samples.end());
  if (*high - *low <= rounding * (*most - *least)) return 0;
  const double correlation = lag_one_autocorrelation(ranks_of(rest));
  return std::clamp(correlation + (1 + 4 * correlation) / static_cast<double>(samples.size()), 0.0,
                    0.99);
}

// The factor on the variance of S if the correlation of lag i is ρ^i.
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
  return normal_two_sided_p(std::max(std::abs(s) - 1, 0.0) /
                            std::sqrt(variance / 18 * trend_inflation(samples)));
}

double drift_between_thirds(std::span<const double> samples) {
  const auto [before, after] = medians_of_thirds(samples);
  return before == 0 ? not_a_number : after / before - 1;
}

}  // namespace

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
  order.autocorrelated =
      normal_two_sided_p((order.autocorrelation + 1 / n) * std::sqrt(n)) < significance;
  order.drift = drift_between_thirds(samples);
  order.trend_p = trend_p(samples);
  order.drifting = order.trend_p < significance && std::abs(order.drift) >= least_drift;
  return order;
}

}  // namespace assay::statistics
