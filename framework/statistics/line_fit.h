#pragma once

#include <span>

namespace assay::statistics {

// y = c + slope · x by least squares; r2 is the share of the variance of y that it explains.
struct LineFit {
  double slope = 0;
  double r2 = 0;
};

// As many of each, of which x are not all equal. Equal y have a slope of 0 and an r2 of 0.
LineFit fit_line(std::span<const double> x, std::span<const double> y);

}  // namespace assay::statistics
