#pragma once

#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "expression/count_formula.h"
#include "expression/expression.h"
#include "support.h"

namespace assay::test {

// What a program counts of a pass, by metric.
inline std::map<std::string, double> counts(ProgramBoundary& program, const std::string& pass) {
  std::vector<Count> counted;
  throw_unless_ok(program.counts(pass, counted));
  std::map<std::string, double> counts;
  for (const Count& count : counted) counts[count.metric] = count.value;
  return counts;
}

// Bytes by one of the plugin's estimates, for these names; others are nothing.
inline double memory_estimate(
    const std::string& kind, const std::string& library, const std::string& name,
    const std::map<std::string, Value>& names,
    std::string PluginDescription::*estimate = &PluginDescription::memory_estimate) {
  PluginDescription description;
  throw_unless_ok(entry(kind, library, name).describe(description));
  const auto expression = Expression::compile(description.*estimate);
  if (!expression) throw std::runtime_error(expression.error().text());
  const auto value = expression->evaluate([&](const std::string& wanted) {
    const auto found = names.find(wanted);
    return found == names.end() ? Value() : found->second;
  });
  if (!value) throw std::runtime_error(value.error().text());
  if (const auto* whole = std::get_if<std::int64_t>(&*value)) return static_cast<double>(*whole);
  return std::get<double>(*value);
}

// What the formula of the workload's metric gives for a call of the case; negative: nothing.
inline double derived(const Case& tested, const std::string& workload, const std::string& metric,
                      const std::string& pass) {
  PluginDescription description;
  throw_unless_ok(entry("workload", workload, workload).describe(description));
  const auto& context = tested.context;
  const auto value = [&](const std::string& name) -> Value {
    if (name == "element_size") return integer(c10::elementSize(context.precision.compute()));
    if (name == "world_size") return integer(context.group.size);
    if (const auto own = context.parameters.find(name); own != context.parameters.end()) {
      return own->second;
    }
    for (const auto& [preset, fields] : context.presets) {
      if (const auto field = fields.find(name); field != fields.end()) return field->second;
    }
    return {};
  };
  for (const MetricInfo& declared : description.workload.metrics) {
    if (declared.name == metric)
      return counted_by_formula(declared.formula, pass, value).value_or(-1);
  }
  return -1;
}

// Expects of each metric in `formulas` that its formula gives what the program counts.
inline void expect_as_derived(const Case& tested, const std::string& workload,
                              const std::vector<std::string>& passes,
                              const std::vector<std::string>& formulas) {
  const auto program = build(tested);
  for (const std::string& pass : passes) {
    const auto counted = counts(*program, pass);
    for (const std::string& metric : formulas) {
      EXPECT_DOUBLE_EQ(derived(tested, workload, metric, pass), counted.at(metric))
          << workload << " " << pass << " " << metric;
    }
  }
}

}  // namespace assay::test
