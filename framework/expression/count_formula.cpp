#include "expression/count_formula.h"

namespace assay {

std::optional<double> counted_by_formula(std::string_view formula, const std::string& pass,
                                         const Expression::Lookup& lookup) {
  if (formula.empty()) return std::nullopt;
  const auto expression = Expression::compile(formula);
  if (!expression) return std::nullopt;
  const bool trains = pass == "train_step";
  const auto value = expression->evaluate([&](const std::string& name) -> Value {
    if (name == "pass") return pass;
    if (name == "runs_forward") return std::int64_t{pass != "backward"};
    if (name == "runs_backward") {
      return std::int64_t{pass == "backward" || pass == "forward_backward" || trains};
    }
    if (name == "runs_train_step") return std::int64_t{trains};
    return lookup(name);
  });
  if (!value) return std::nullopt;
  if (const auto* real = std::get_if<double>(&*value)) return *real;
  if (const auto* whole = std::get_if<std::int64_t>(&*value)) return static_cast<double>(*whole);
  return std::nullopt;
}

}  // namespace assay
