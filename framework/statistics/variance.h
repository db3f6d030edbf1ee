#pragma once

#include <span>

namespace assay::statistics {

// Degrees of freedom of a known variance: Student's t becomes the normal distribution.
inline constexpr double known_degrees = 1e9;

struct Variance {
  double value = 0;
  double degrees = known_degrees;  // of freedom
};

// The variance of a sum of independent numbers, with the degrees of freedom of Welch and
// Satterthwaite; parts of variance 0 do not count.
Variance sum_of(std::span<const Variance> parts);

}  // namespace assay::statistics
