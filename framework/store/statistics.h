#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace assay::store {

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

// Confidence interval by the percentile bootstrap (Efron and Tibshirani, "An Introduction to the
// Bootstrap", 1993, chapter 13): the statistic of `resamples` draws with replacement, cut at
// (1 − level)/2 on either side. The same seed gives the same interval everywhere. A single sample
// gives an interval of no width; no samples, or a NaN among them, NaN.
Interval bootstrap_mean(std::span<const double> samples, std::uint64_t seed, int resamples = 2000,
                        double level = 0.95);
Interval bootstrap_median(std::span<const double> samples, std::uint64_t seed, int resamples = 2000,
                          double level = 0.95);

}  // namespace assay::store
