#pragma once

#include <span>

namespace assay::timing {

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

}  // namespace assay::timing
