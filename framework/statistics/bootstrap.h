#pragma once

#include <cstdint>
#include <span>

#include "statistics/statistics.h"

namespace assay::statistics {

// The seed of intervals in reports and exports, so that they are reproducible.
inline constexpr std::uint64_t interval_seed = 1;

// Confidence interval of the mean by the percentile bootstrap (Efron and Tibshirani, "An
// Introduction to the Bootstrap", 1993, chapter 13): the means of `resamples` draws with
// replacement, cut at (1 − level)/2 on either side. The same seed gives the same interval
// everywhere. NaN without samples or with a NaN among them.
//
// It assumes independent samples and is too narrow for few or correlated ones. It is for display;
// decisions use the interval of the median (median_interval.h).
Interval bootstrap_mean(std::span<const double> samples, std::uint64_t seed, int resamples = 2000,
                        double level = 0.95);

}  // namespace assay::statistics
