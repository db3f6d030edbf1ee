#pragma once

#include <span>

namespace assay::statistics {

// y = c + slope · x by least squares; r2 is the explained share of the variance of y.
struct LineFit {
  double slope = 0;
  double r2 = 0;
};

// x and y have equal lengths, and x at least two distinct values. Equal y give slope 0 and r2 0.
LineFit fit_line(std::span<const double> x, std::span<const double> y);

}  // namespace assay::statistics
