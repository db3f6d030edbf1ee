#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "expression/expression.h"
#include "run/cases/resolve.h"

namespace assay::run {

// Estimates the bytes a case needs from the expressions that its workload and attention declare.
// Expressions may use the case's parameters, the fields of its presets (d_model, layers, …),
// element_size (bytes of a matrix product's operand), runs_backward and runs_train_step (0 or 1)
// and, in the workload's, attention_memory. Each expression is compiled once for all cases.
class MemoryEstimator {
 public:
  explicit MemoryEstimator(const Surroundings& surroundings) : around_(surroundings) {}

  // A case's parameter by name; monostate for an unknown one.
  using Parameters = std::function<Value(const std::string&)>;

  // Empty where the workload declares no expression or a name in it has no value.
  std::optional<double> estimate(const Parameters& parameters);

  // What a look at one of its timed calls takes beside that; empty as above.
  std::optional<double> estimate_of_look(const Parameters& parameters);

 private:
  // `text`: the expression, in the description of the case's plugin of that kind.
  std::optional<double> evaluate(std::string_view kind, std::string catalogue::PluginInfo::*text,
                                 const Parameters& parameters, double attention_bytes = 0);
  const std::optional<Expression>& compiled(const std::string& text);
  Value preset_field(const Parameters& parameters, const std::string& name) const;
  bool runs(std::initializer_list<std::string_view> passes) const;

  const Surroundings& around_;
  std::map<std::string, std::optional<Expression>> compiled_;  // empty: none, or it is wrong
};

}  // namespace assay::run
