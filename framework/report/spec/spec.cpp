#include "report/spec/spec.h"

#include <algorithm>

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

bool Vocabulary::has_axis(std::string_view name) const {
  return open || std::find(axes.begin(), axes.end(), name) != axes.end();
}

void Vocabulary::add_values(const std::string& axis, const std::vector<Value>& distinct) {
  std::vector<Value>& known = values[axis];
  std::copy_if(distinct.begin(), distinct.end(), std::back_inserter(known),
               [](const Value& value) { return !std::holds_alternative<std::monostate>(value); });
}

void Vocabulary::add_value(const std::string& axis, const Value& value) {
  if (std::holds_alternative<std::monostate>(value)) return;
  std::vector<Value>& known = values[axis];
  if (std::find(known.begin(), known.end(), value) == known.end()) known.push_back(value);
}

const MetricInfo* Vocabulary::metric(std::string_view name) const {
  for (const MetricInfo& metric : metrics) {
    if (metric.name == name) return &metric;
  }
  return nullptr;
}

}  // namespace assay::report
