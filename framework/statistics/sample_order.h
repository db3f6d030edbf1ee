#pragma once

#include <span>

namespace assay::statistics {

// What the order of samples shows. Independent samples of one distribution get neither mark. Each
// test is two-sided at 1 %, so 1 in 100 such series is marked by chance; `drifting` marks up to 4
// in 100 at a lag-1 correlation of up to 0.8. An undefined figure is NaN and its mark off: below 3
// samples, with a NaN or an infinity, or if all are equal.
struct SampleOrder {
  // Lag 1: Σ (x[t] − x̄)(x[t+1] − x̄) / Σ (x[t] − x̄)², −1 to 1.
  double autocorrelation = 0;
  // |autocorrelation + 1/n| > 2.576/√n, the bound for large samples: without correlation it is
  // normal with mean −1/n and variance 1/n (Box and Jenkins, "Time Series Analysis", 1970).
  bool autocorrelated = false;
  // Median of the last third over that of the first, less 1; a third is ⌊n/3⌋ samples.
  double drift = 0;
  // p, 0 to 1, of the trend test of Mann ("Nonparametric Tests Against Trend", Econometrica, 1945)
  // and Kendall: S = ascending pairs − descending pairs, normal with mean 0 and variance (n(n −
  // 1)(2n + 5) − Σ t(t − 1)(2t + 5)) / 18 over groups of t equal samples, |S| reduced by 1 for
  // continuity. From 10 samples on the variance is 1 + 2/(n(n − 1)(n − 2)) Σ (n − i)(n − i − 1)(n −
  // i − 2) ρ^i times as large (Hamed and Rao, "A modified Mann–Kendall trend test for
  // autocorrelated data", Journal of Hydrology, 1998), where ρ ≥ 0 is r + (1 + 4r)/n for the lag-1
  // correlation r of the ranks without their trend.
  double trend_p = 0;
  // trend_p < 1 % and |drift| ≥ 1 %: many samples make a negligible trend significant.
  bool drifting = false;
};

SampleOrder examine_order(std::span<const double> samples);

}  // namespace assay::statistics
