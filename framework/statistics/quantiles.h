#pragma once

#include <span>

namespace assay::statistics {

// The value at a place from 0 to n − 1 among ascending samples, at least one; interpolated.
double at_place(std::span<const double> sorted, double place);

// The p-th percentile (0 ≤ p ≤ 100) of ascending samples: the value at place (n − 1)·p/100.
// Definition 7 of Hyndman and Fan, "Sample Quantiles in Statistical Packages" (The American
// Statistician, 1996); numpy.percentile's default. NaN without samples.
double percentile(std::span<const double> sorted, double p);

// Of samples in any order. NaN without samples.
double median(std::span<const double> samples);

}  // namespace assay::statistics
