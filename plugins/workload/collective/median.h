#pragma once

#include <algorithm>
#include <vector>

namespace assay::collective {

// Of at least one value; the upper of the middle two.
inline double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace assay::collective
