#pragma once

#include <span>

#include "statistics/statistics.h"
#include "statistics/variance.h"

namespace assay::statistics {

// How well a median is known. One definition serves the stopping of measurements, the mark `wide`,
// the ± of tables, exports and `show`: the interval between order statistics (the sign test's;
// David and Nagaraja, "Order Statistics", 2003, section 7.1), widened for samples that resemble
// their neighbours:
//
//   k    = how many of the smallest samples, and of the largest, lie outside of it or are its ends:
//          the largest k for which a binomial(n, ½) number is below k with a probability of at most
//          (1 − level)/2. Of ten samples the ends are the second and the ninth.
//   f    = (1 + ρ)/(1 − ρ), with ρ the lag-1 autocorrelation of the signs of x − median, 0 where it
//          is negative: so many samples tell as much as one independent one.
//   ends = √f·((n + 1)/2 − k) places to either side of the middle, interpolated.
//
// It supposes no distribution, is not symmetric where the samples are not, and from nine samples on
// one outlier cannot move it. Where n/f samples have no interval of that level (2^(1 − n/f) > 1 −
// level: fewer than six, or a drift) nothing wider than all samples is known: these are its ends
// then, of five independent ones with a certainty of 94 %, and `at_level` is false.
//
// Over normal, log-normal and outlying noise with a lag-1 correlation of 0 / 0.5 / 0.8, 95 %
// intervals held the median in so many of 100 sets:
//
//                                                  n = 10         n = 30
//   this one                                    98 / 92 / 74   96 / 91 / 81
//   the same without f                          98 / 87 / 63   95 / 82 / 57
//   percentile bootstrap of the median          94 / 76 / 50   94 / 79 / 54
//   Student's t and variance_of_log_median      97 / 95 / 89   95 / 94 / 88
//
// The bootstrap draws as if samples were independent, and holds less than it says even where they
// are (of seven: 87). The last is the most careful, at the price of being up to twice as wide at
// ten samples (Student's t of two degrees), so that no measurement would stop there; of six it
// holds 89, and it does not know a skewed side from the other.
struct MedianInterval {
  double median = not_a_number;
  double low = not_a_number;
  double high = not_a_number;
  bool at_level = false;

  // The distance from the median to the farther end, as a share of it. Infinite where the median is
  // not above 0.
  double relative_reach() const;
};

// Of samples in the order they were taken. NaN for none or a NaN among them. `level`: 0.5 to
// 0.9999.
MedianInterval median_interval(std::span<const double> samples, double level = 0.95);

// Its relative_reach(); infinite where it is not at the level.
double relative_half_width_of_median(std::span<const double> samples, double level = 0.95);

// Of the logarithm of the median of samples of one process, at least five and all above 0, in the
// order they were taken: v e², with the k degrees of freedom of v. What `compare` judges by, beside
// the interval above: ratios of two medians need variances that can be added, with the variance
// between runs too, at levels (99 % and more) for which ten samples have no order statistics; and
// where hundreds of pairs are judged a correlation that ρ of one lag does not see, a slow wave,
// must not pass for a difference. It starts from the same two things, order statistics about √n
// places from the middle and the signs about the median.
//
//   e² = for independent samples, from their order statistics x[c] and x[n−c+1], c = (n + 1)/2 −
//        √n: ((ln x[n−c+1] − ln x[c]) / 2z)², where z is the normal quantile of 1 − P(binomial(n,
//        ½) < c) (Price and Bonett, "Estimating the Variance of the Sample Median", Journal of
//        Statistical Computation and Simulation, 2001);
//   v  = how many times larger it is for samples that follow each other: the long-run variance of
//        the signs of x − median over their variance, by the mean of k squared cosine weights
//        √(2/n) Σ sign(x[t] − median) cos(πj(t − ½)/n), j = 1…k, k = 0.4 n^⅔ but 2 at least and 64
//        at most (Lazarus, Lewis, Stock and Watson, "HAR Inference", Journal of Business & Economic
//        Statistics, 2018): slow waves and drifts are what the first weights see.
Variance variance_of_log_median(std::span<const double> samples);

}  // namespace assay::statistics
