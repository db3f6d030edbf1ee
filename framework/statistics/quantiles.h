#pragma once

#include <span>

namespace assay::statistics {

// The value at a place from 0 to n − 1 among samples in ascending order, at least one; between two
// of them interpolated.
double at_place(std::span<const double> sorted, double place);

// The p-th percentile (0 ≤ p ≤ 100) of samples in ascending order, the value at place (n −
// 1)·p/100. Definition 7 of Hyndman and Fan, "Sample Quantiles in Statistical Packages" (The
// American Statistician, 1996); the default of numpy.percentile. NaN for no samples.
double percentile(std::span<const double> sorted, double p);

// The middle one, or the mean of the two in the middle; in any order. NaN for no samples.
double median(std::span<const double> samples);

}  // namespace assay::statistics
