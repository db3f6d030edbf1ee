#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay::report {

enum class Statistic {
  mean,
  std,
  std_population,
  median,
  min,
  max,
  p5,
  p95,
  p99,
  iqr,
  ci_low,  // the 95 % confidence interval of the mean
  ci_high,
  median_ci_low,  // likewise of the median
  median_ci_high,
  margin,  // from the median to the farther end of its interval
  n,
  sum,
  autocorrelation,
  drift,
  samples
};

// What stands for all samples of a time. One of them rules a table with its findings and plots.
enum class Centre { median, mean };

// The centre that a figure of this statistic is, or is a spread around. nullopt: neither, as min.
std::optional<Centre> centre_of(Statistic statistic);
Statistic statistic_of(Centre centre);
std::string_view centre_name(Centre centre);
// The statistic that stands behind the ± of this one: std behind a mean, margin behind a median.
std::optional<Statistic> uncertainty_of(Statistic statistic);
bool is_uncertainty(Statistic statistic);

std::string_view statistic_name(Statistic statistic);
std::optional<Statistic> statistic_from_text(std::string_view text);
// Whether its figures have the metric's unit; others are plain numbers.
bool has_unit(Statistic statistic);
const std::vector<std::string>& statistic_names();

// The statistics of rates. Mean, median, percentiles, extremes and intervals are count / that of
// the time, or its opposite (max for min); spreads are those of the samples' rates.
const std::vector<Statistic>& statistics_of_rates();

}  // namespace assay::report
