#pragma once

#include <cstddef>

// Boost.Math behind a header that is cheap to include.
namespace assay::statistics {

// `p`: 0 to 1, exclusive.
double normal_quantile(double p);
// The probability of a standard normal number at least |z| from 0.
double normal_two_sided_p(double z);

// A number of Student's t distribution lies above it with probability `tail`.
double student_upper_quantile(double tail, double degrees);
// The probability of a number at least |t| from 0.
double student_two_sided_p(double t, double degrees);

// The probability of at most `k` heads from `n` fair coins.
double binomial_at_most(std::size_t k, std::size_t n);
// The largest k for which fewer than k heads from `n` fair coins have probability at most `tail`,
// below ½.
std::size_t outcomes_below(double tail, std::size_t n);

}  // namespace assay::statistics
