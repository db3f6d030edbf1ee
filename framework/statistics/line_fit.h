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

struct Line {
  double intercept = 0;
  double slope = 0;
};

// y = intercept + slope · x by least squares of (intercept + slope · x − y) / y: a y of any size
// counts alike. All y are positive; x have at least two distinct values.
Line fit_relative_line(std::span<const double> x, std::span<const double> y);

// fit_line() over points that come one after another, each in constant time.
class RunningLine {
 public:
  void add(double x, double y);
  // Needs two distinct x.
  LineFit fit() const;

 private:
  double n_ = 0;
  double mean_x_ = 0, mean_y_ = 0;
  double xx_ = 0, xy_ = 0, yy_ = 0;  // sums of products of the distances from the means
};

}  // namespace assay::statistics
