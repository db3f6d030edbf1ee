#pragma once

#include <cstdint>
#include <span>

#include "statistics/statistics.h"

namespace assay::statistics {

// What intervals that are shown or exported are drawn with, so that they are the same every time.
inline constexpr std::uint64_t interval_seed = 1;

// Confidence interval of the mean by the percentile bootstrap (Efron and Tibshirani, "An
// Introduction to the Bootstrap", 1993, chapter 13): the means of `resamples` draws with
// replacement, cut at (1 − level)/2 on either side. The same seed gives the same interval
// everywhere. A single sample gives an interval of no width; no samples, or a NaN among them, NaN.
//
// It supposes independent samples, and is too narrow for few of them or such as follow each other.
// The mean has no order statistics, and Student's interval puts as much below the mean of skewed
// times as above it. Nothing is decided by it: how well a time is known is said of its median
// (median_interval.h).
Interval bootstrap_mean(std::span<const double> samples, std::uint64_t seed, int resamples = 2000,
                        double level = 0.95);

}  // namespace assay::statistics
