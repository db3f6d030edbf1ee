#pragma once

// store keeps results: records are the values, database and exchange the two ways in and out. This
// folder itself has the statistics of samples, which all three need. It depends on base.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

namespace assay::store {

// What a figure is that cannot be computed.
inline constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

// What a set of samples comes to, in the unit of the samples. With no samples, or with a NaN among
// them, every figure but `n` is NaN.
struct Summary {
  std::size_t n = 0;
  double mean = 0;
  double std_sample = 0;      // divisor n − 1; NaN for a single sample
  double std_population = 0;  // divisor n
  double median = 0;
  double p5 = 0;
  double p95 = 0;
  double q1 = 0;
  double q3 = 0;
  double iqr = 0;  // interquartile range, q3 − q1
  double min = 0;
  double max = 0;
};

Summary summarise(std::span<const double> samples);

// The p-th percentile (0 ≤ p ≤ 100) of samples in ascending order: with h = (n − 1)·p/100,
// x[⌊h⌋] + (h − ⌊h⌋)·(x[⌊h⌋+1] − x[⌊h⌋]). Definition 7 of Hyndman and Fan, "Sample Quantiles in
// Statistical Packages" (The American Statistician, 1996); the default of numpy.percentile.
// NaN for no samples.
double percentile(std::span<const double> sorted, double p);

struct Interval {
  double low = 0;
  double high = 0;
};

// What intervals that are shown or exported are drawn with, so that they are the same every time.
inline constexpr std::uint64_t interval_seed = 1;

// Confidence interval by the percentile bootstrap (Efron and Tibshirani, "An Introduction to the
// Bootstrap", 1993, chapter 13): the statistic of `resamples` draws with replacement, cut at
// (1 − level)/2 on either side. The same seed gives the same interval everywhere. A single sample
// gives an interval of no width; no samples, or a NaN among them, NaN.
Interval bootstrap_mean(std::span<const double> samples, std::uint64_t seed, int resamples = 2000,
                        double level = 0.95);
Interval bootstrap_median(std::span<const double> samples, std::uint64_t seed, int resamples = 2000,
                          double level = 0.95);

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

}  // namespace assay::store
