#pragma once

#include <map>
#include <stdexcept>
#include <string>

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

// Bytes by the plugin's estimate, for these names; others are nothing.
inline double memory_estimate(const std::string& kind, const std::string& library,
                              const std::string& name, const std::map<std::string, Value>& names) {
  PluginDescription description;
  throw_unless_ok(entry(kind, library, name).describe(description));
  const auto expression = Expression::compile(description.memory_estimate);
  if (!expression) throw std::runtime_error(expression.error().text());
  const auto value = expression->evaluate([&](const std::string& wanted) {
    const auto found = names.find(wanted);
    return found == names.end() ? Value() : found->second;
  });
  if (!value) throw std::runtime_error(value.error().text());
  if (const auto* whole = std::get_if<std::int64_t>(&*value)) return static_cast<double>(*whole);
  return std::get<double>(*value);
}

}  // namespace assay::test
