#include "statistics/summary.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "statistics/quantiles.h"

namespace assay::statistics {

bool has_nan(std::span<const double> samples) {
  return std::any_of(samples.begin(), samples.end(), [](double x) { return std::isnan(x); });
}

double mean(std::span<const double> samples) {
  return std::accumulate(samples.begin(), samples.end(), 0.0) / static_cast<double>(samples.size());
}

double geometric_mean(std::span<const double> samples) {
  double sum = 0;
  for (const double sample : samples) sum += std::log(sample);
  return std::exp(sum / static_cast<double>(samples.size()));
}

Summary summarise(std::span<const double> samples) {
  Summary summary;
  summary.n = samples.size();
  if (samples.empty() || has_nan(samples)) return summary;
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  const auto n = static_cast<double>(samples.size());
  summary.mean = mean(samples);
  double squares = 0;
  for (const double sample : samples) squares += (sample - summary.mean) * (sample - summary.mean);
  summary.std_population = std::sqrt(squares / n);
  if (samples.size() > 1) summary.std_sample = std::sqrt(squares / (n - 1));
  summary.median = percentile(sorted, 50);
  summary.p5 = percentile(sorted, 5);
  summary.p95 = percentile(sorted, 95);
  summary.p99 = percentile(sorted, 99);
  summary.q1 = percentile(sorted, 25);
  summary.q3 = percentile(sorted, 75);
  summary.iqr = summary.q3 - summary.q1;
  summary.min = sorted.front();
  summary.max = sorted.back();
  return summary;
}

}  // namespace assay::statistics
