#pragma once

#include <cstddef>
#include <span>

#include "statistics/statistics.h"

namespace assay::statistics {

// In the unit of the samples. Without samples, or with a NaN among them, every figure but `n` is
// NaN.
struct Summary {
  std::size_t n = 0;
  double mean = not_a_number;
  double std_sample = not_a_number;      // divisor n − 1; NaN for a single sample
  double std_population = not_a_number;  // divisor n
  double median = not_a_number;
  double p5 = not_a_number;
  double p95 = not_a_number;
  double p99 = not_a_number;
  double q1 = not_a_number;
  double q3 = not_a_number;
  double iqr = not_a_number;  // interquartile range, q3 − q1
  double min = not_a_number;
  double max = not_a_number;
};

Summary summarise(std::span<const double> samples);

// NaN without samples.
double mean(std::span<const double> samples);
// Of samples above 0; NaN without samples.
double geometric_mean(std::span<const double> samples);

bool has_nan(std::span<const double> samples);

}  // namespace assay::statistics
