#include "store/exchange/export_statistics.h"

#include <fmt/format.h>

#include <cmath>

#include "statistics/bootstrap.h"
#include "statistics/median_interval.h"
#include "statistics/summary.h"

namespace assay::store {
namespace {

std::string what_is_not_finite(const Series& series) {
  for (std::size_t i = 0; i < series.samples.size(); ++i) {
    if (std::isfinite(series.samples[i])) continue;
    return fmt::format("sample {} of {} is {}", i + 1, series.samples.size(), series.samples[i]);
  }
  for (const auto& [name, figure] : series.statistics) {
    if (!std::isfinite(figure)) return fmt::format("{} is {}", name, figure);
  }
  return {};
}

constexpr std::size_t of_one_sample = 6;
constexpr std::size_t of_samples = 10;
constexpr std::size_t most_resampled = 10'000;

// How many of exported_statistics a number of samples gives.
std::size_t computed_figures(std::size_t samples) {
  if (samples < 2) return samples * of_one_sample;
  return samples > most_resampled ? of_samples : exported_statistics.size();
}

}  // namespace

std::set<std::string> figure_names(const Series& series) {
  std::set<std::string> names;
  for (const auto& [name, figure] : series.statistics) names.insert(name);
  const std::size_t computed = computed_figures(series.samples.size());
  names.insert(exported_statistics.begin(), exported_statistics.begin() + computed);
  return names;
}

std::map<std::string, double> figures_of(const Series& series) {
  std::map<std::string, double> figures = series.statistics;
  const std::size_t computed = computed_figures(series.samples.size());
  if (computed == 0) return figures;
  const statistics::Summary summary = statistics::summarise(series.samples);
  figures["n"] = static_cast<double>(summary.n);
  figures["mean"] = summary.mean;
  figures["std"] = summary.std_sample;
  figures["median"] = summary.median;
  figures["min"] = summary.min;
  figures["max"] = summary.max;
  if (computed == of_one_sample) return figures;
  figures["std_population"] = summary.std_population;
  figures["p5"] = summary.p5;
  figures["p95"] = summary.p95;
  figures["iqr"] = summary.iqr;
  if (computed == of_samples) return figures;
  const statistics::Interval mean =
      statistics::bootstrap_mean(series.samples, statistics::interval_seed);
  figures["ci_low"] = mean.low;
  figures["ci_high"] = mean.high;
  const statistics::MedianInterval median = statistics::median_interval(series.samples);
  figures["median_ci_low"] = median.low;
  figures["median_ci_high"] = median.high;
  return figures;
}

ExchangedOutcome exchanged_outcome(const Series& series) {
  if (series.outcome != Outcome::ok) return {series.outcome, series.reason};
  const std::string problem = what_is_not_finite(series);
  if (problem.empty()) return {series.outcome, series.reason};
  return {Outcome::error, series.reason.empty() ? problem : series.reason + "; " + problem};
}

}  // namespace assay::store
