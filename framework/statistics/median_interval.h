#pragma once

#include <span>

#include "statistics/variance.h"

namespace assay::statistics {

// How well the median of samples, in the order they were taken, is known: the distance from it to
// the farther end of its confidence interval, as a share of it. The interval runs between order
// statistics (David and Nagaraja, "Order Statistics", 2003, section 7.1): of n samples those that
// lie z·√(n·f)/2 + ½ places to either side of the middle, interpolated, with z the normal quantile
// of `level`. It supposes no distribution. f ≥ 1 is for samples that resemble their neighbours, and
// so tell less than independent ones: (1 + ρ)/(1 − ρ), with ρ the autocorrelation at lag 1 of
// whether a sample is above the median (1 where that is negative).
// Infinite where n/f is too small for any interval of that level, as with a drift, and where the
// median is not above 0; NaN for no samples or a NaN among them. `level`: 0.5 to 0.9999.
double relative_half_width_of_median(std::span<const double> samples, double level = 0.95);

// Of the logarithm of the median of samples of one process, at least five and all above 0, in the
// order they were taken: v e², with the k degrees of freedom of v.
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
