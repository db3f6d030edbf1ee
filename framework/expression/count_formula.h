#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "expression/expression.h"

namespace assay {

// What the formula of a metric (MetricInfo::formula) gives for one call of a pass. Beside the names
// of `lookup` it may use `pass` and, 0 or 1 each, what the call runs: runs_forward, runs_backward,
// runs_train_step. nullopt: it is a sentence and no expression, or a name has no value.
std::optional<double> counted_by_formula(std::string_view formula, const std::string& pass,
                                         const Expression::Lookup& lookup);

}  // namespace assay
