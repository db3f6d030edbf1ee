#pragma once

#include <optional>
#include <string>
#include <vector>

#include "expression/expression.h"

namespace assay::report {

// What is wrong with the units of an expression over columns: two scales of one quantity ("ms and
// s"), or quantities that cannot be added ("ms and MiB"). units[i] belongs to names()[i], "" for
// plain numbers. Adding is found out by trying: when a quantity's unit grows by a factor, a sum
// with another does not grow by any power of it, and two sides of a comparison do not grow alike.
std::optional<std::string> mixed_units(const Expression& expression,
                                       const std::vector<std::string>& units);

// The same of the comparisons in a condition only.
std::optional<std::string> mixed_comparison(const Expression& expression,
                                            const std::vector<std::string>& units);

}  // namespace assay::report
