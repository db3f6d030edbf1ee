#pragma once

#include <cstddef>

// Boost.Math behind an interface that costs its users no compile time.
namespace assay::statistics {

// Below which a standard normal number lies with probability `p`, 0 to 1 exclusive.
double normal_quantile(double p);
// The probability that it lies at least |z| from 0.
double normal_two_sided_p(double z);

// Above which a number of Student's t distribution lies with probability `tail`.
double student_upper_quantile(double tail, double degrees);
// The probability that it lies at least |t| from 0.
double student_two_sided_p(double t, double degrees);

// The probability that of `n` fair coins at most `k` show heads.
double binomial_at_most(std::size_t k, std::size_t n);
// How many of the outcomes 0, 1, … of `n` fair coins have together at most probability `tail`,
// below ½.
std::size_t outcomes_below(double tail, std::size_t n);

}  // namespace assay::statistics
