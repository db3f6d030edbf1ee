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
  iqr,
  ci_low,  // ends of the 95 % confidence interval of the mean
  ci_high,
  median_ci_low,  // and of the median
  median_ci_high,
  n,
  sum,
  autocorrelation,
  drift,
  samples
};

std::string_view statistic_name(Statistic statistic);
std::optional<Statistic> statistic_from_text(std::string_view text);
// Whether its figures are in the unit of the metric; the others are plain numbers.
bool has_unit(Statistic statistic);
const std::vector<std::string>& statistic_names();

// Statistics that a rate has. Of mean, median, percentiles, extremes and intervals the count is
// divided by the time's own (its other end where the order turns round); a spread is that of the
// samples' rates.
const std::vector<Statistic>& statistics_of_rates();

}  // namespace assay::report
