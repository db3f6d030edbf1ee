#include "statistics/line_fit.h"

namespace assay::statistics {

LineFit fit_line(std::span<const double> x, std::span<const double> y) {
  const auto n = static_cast<double>(x.size());
  double mean_x = 0, mean_y = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    mean_x += x[i] / n;
    mean_y += y[i] / n;
  }
  double xx = 0, xy = 0, yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double dx = x[i] - mean_x, dy = y[i] - mean_y;
    xx += dx * dx;
    xy += dx * dy;
    yy += dy * dy;
  }
  return {xy / xx, yy == 0 ? 0 : xy * xy / (xx * yy)};
}

// Weights 1 / y² about the weighted mean of x.
Line fit_relative_line(std::span<const double> x, std::span<const double> y) {
  double weight = 0, mean_x = 0, mean_y = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double w = 1 / (y[i] * y[i]);
    weight += w;
    mean_x += (x[i] - mean_x) * w / weight;
    mean_y += (y[i] - mean_y) * w / weight;
  }
  double xx = 0, xy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double w = 1 / (y[i] * y[i]);
    xx += w * (x[i] - mean_x) * (x[i] - mean_x);
    xy += w * (x[i] - mean_x) * (y[i] - mean_y);
  }
  return {mean_y - xy / xx * mean_x, xy / xx};
}

// Welford's updates, of two variables.
void RunningLine::add(double x, double y) {
  n_ += 1;
  const double from_mean_x = x - mean_x_, from_mean_y = y - mean_y_;
  mean_x_ += from_mean_x / n_;
  mean_y_ += from_mean_y / n_;
  xx_ += from_mean_x * (x - mean_x_);
  xy_ += from_mean_x * (y - mean_y_);
  yy_ += from_mean_y * (y - mean_y_);
}

LineFit RunningLine::fit() const { return {xy_ / xx_, yy_ == 0 ? 0 : xy_ * xy_ / (xx_ * yy_)}; }

}  // namespace assay::statistics
