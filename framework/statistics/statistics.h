#pragma once

#include <limits>

// statistics estimates from samples, and says how surely. Its functions take and return numbers and
// know no cases, clocks or reports.
//
//   quantiles.h        median and percentiles
//   summary.h          mean, deviations, extremes; the geometric mean
//   median_interval.h  how well a median is known, alone and against another
//   bootstrap.h        how well a mean is known
//   sample_order.h     whether samples are correlated or drift
//   variance.h         variances with their degrees of freedom, and their sums
//   line_fit.h         a straight line by least squares
//   distributions.h    normal, Student's t and binomial
namespace assay::statistics {

// The value of an undefined figure.
inline constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

struct Interval {
  double low = 0;
  double high = 0;
};

}  // namespace assay::statistics
