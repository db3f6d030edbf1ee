#pragma once

#include <optional>
#include <string>
#include <vector>

#include "expression/expression.h"

namespace assay::report {

// The mixed units of an expression over columns: two scales of one quantity ("ms and s"), or
// quantities that are added or compared ("ms and MiB"). units[i] belongs to names()[i]; "" for
// plain numbers. The check scales each unit: a sum of quantities does not grow by a power of the
// factor, and the sides of a mixed comparison grow differently.
std::optional<std::string> mixed_units(const Expression& expression,
                                       const std::vector<std::string>& units);

// Of the comparisons in a condition only.
std::optional<std::string> mixed_comparison(const Expression& expression,
                                            const std::vector<std::string>& units);

}  // namespace assay::report
