#include "statistics/distributions.h"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>

namespace assay::statistics {

using namespace boost::math;

double normal_quantile(double p) { return quantile(normal(), p); }

double normal_two_sided_p(double z) { return 2 * cdf(complement(normal(), std::abs(z))); }

double student_upper_quantile(double tail, double degrees) {
  return quantile(complement(students_t(degrees), tail));
}

double student_two_sided_p(double t, double degrees) {
  return 2 * cdf(complement(students_t(degrees), std::abs(t)));
}

double binomial_at_most(std::size_t k, std::size_t n) {
  return cdf(binomial(static_cast<double>(n), 0.5), static_cast<double>(k));
}

std::size_t outcomes_below(double tail, std::size_t n) {
  const auto coins = static_cast<double>(n);
  const double about = (coins + normal_quantile(tail) * std::sqrt(coins)) / 2;
  auto outcomes = static_cast<std::size_t>(std::max(about, 0.0));
  while (binomial_at_most(outcomes, n) <= tail) ++outcomes;
  while (outcomes > 0 && binomial_at_most(outcomes - 1, n) > tail) --outcomes;
  return outcomes;
}

}  // namespace assay::statistics
