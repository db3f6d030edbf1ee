#pragma once

#include <span>

namespace assay::statistics {

// Degrees of freedom of a variance that is known: Student's t is then the normal distribution.
inline constexpr double known_degrees = 1e9;

// A variance, and how well it is known.
struct Variance {
  double value = 0;
  double degrees = known_degrees;  // of freedom
};

// Of a sum of independent numbers, with the degrees of freedom of Welch and Satterthwaite; those
// that vary count.
Variance sum_of(std::span<const Variance> parts);

}  // namespace assay::statistics
