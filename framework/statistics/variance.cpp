#include "statistics/variance.h"

#include <algorithm>

namespace assay::statistics {

Variance sum_of(std::span<const Variance> parts) {
  double sum = 0, squares = 0, degrees = 0;
  for (const Variance& part : parts) {
    sum += part.value;
    squares += part.value * part.value / part.degrees;
    degrees += part.degrees;
  }
  return {sum, squares > 0 ? std::min(sum * sum / squares, known_degrees) : degrees};
}

}  // namespace assay::statistics
