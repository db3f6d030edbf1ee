#pragma once

#include <span>

namespace assay::statistics {

// What the order of samples says of them; independent samples of one distribution have neither
// mark. Each test is two-sided at 1 %, so that of such series 1 in 100 is marked by chance; as
// drifting 1 to 4 in 100 where samples follow each other with a correlation of up to 0.8. A
// figure is NaN, and its mark off, where it is not defined: below 3 samples, with a NaN or an
// infinity among them, or where all are equal.
struct SampleOrder {
  // Of lag 1: Σ (x[t] − x̄)(x[t+1] − x̄) / Σ (x[t] − x̄)², −1 to 1.
  double autocorrelation = 0;
  // |autocorrelation + 1/n| > 2.576/√n, its bound in large samples: without correlation it is
  // normal with mean −1/n and variance 1/n (Box and Jenkins, "Time Series Analysis", 1970).
  bool autocorrelated = false;
  // Median of the last third over median of the first, less 1; a third is ⌊n/3⌋ samples.
  double drift = 0;
  // Of the trend test of Mann ("Nonparametric Tests Against Trend", Econometrica, 1945) and
  // Kendall: S = pairs that ascend − pairs that descend, normal with mean 0 and variance (n(n −
  // 1)(2n + 5) − Σ t(t − 1)(2t + 5)) / 18 over groups of t equal samples, |S| reduced by 1 for
  // continuity. From 10 samples on the variance is 1 + 2/(n(n − 1)(n − 2)) Σ (n − i)(n − i − 1)(n −
  // i − 2) ρ^i times as large (Hamed and Rao, "A modified Mann–Kendall trend test for
  // autocorrelated data", Journal of Hydrology, 1998), ρ ≥ 0 being the lag-1 correlation r of the
  // ranks without their trend, as r + (1 + 4r)/n. 0 to 1.
  double trend_p = 0;
  // trend_p < 1 %, and the drift is at least 1 % either way: with many samples a trend that nobody
  // minds is significant too.
  bool drifting = false;
};

SampleOrder examine_order(std::span<const double> samples);

}  // namespace assay::statistics
