#include "report/spec.h"

namespace assay::report {

const Condition* Filter::on(std::string_view axis) const {
  for (const Condition& condition : conditions) {
    if (condition.axis == axis) return &condition;
  }
  return nullptr;
}

void Filter::add(const Filter& other) {
  conditions.insert(conditions.end(), other.conditions.begin(), other.conditions.end());
  expressions.insert(expressions.end(), other.expressions.begin(), other.expressions.end());
}

const MetricInfo* Vocabulary::metric(std::string_view name) const {
  for (const MetricInfo& metric : metrics) {
    if (metric.name == name) return &metric;
  }
  return nullptr;
}

}  // namespace assay::report
