#include "run/cases/memory_estimate.h"

#include <algorithm>

#include "run/cases/case_names.h"

namespace assay::run {

std::optional<double> MemoryEstimator::estimate(const Parameters& parameters) {
  const auto text = &catalogue::PluginInfo::memory_estimate;
  return evaluate("workload", text, parameters,
                  evaluate("attention", text, parameters).value_or(0));
}

std::optional<double> MemoryEstimator::estimate_of_look(const Parameters& parameters) {
  return evaluate("workload", &catalogue::PluginInfo::look_memory_estimate, parameters);
}

std::optional<double> MemoryEstimator::evaluate(std::string_view kind,
                                                std::string catalogue::PluginInfo::*text,
                                                const Parameters& parameters,
                                                double attention_bytes) {
  const auto* plugin = around_.catalogue.find(kind, to_text(parameters(std::string(kind))));
  if (plugin == nullptr) return {};
  const std::optional<Expression>& expression = compiled(plugin->*text);
  if (!expression) return {};
  const auto value = expression->evaluate([&](const std::string& name) -> Value {
    if (name == "attention_memory") return attention_bytes;
    if (name == "runs_train_step") return std::int64_t{runs({"train_step"})};
    if (name == "runs_backward") {
      return std::int64_t{runs({"backward", "forward_backward", "train_step"})};
    }
    if (name == "element_size") {
      return element_size_of(to_text(parameters("precision")));
    }
    if (Value own = parameters(name); own.index() != 0) return own;
    if (Value field = preset_field(parameters, name); field.index() != 0) return field;
    return left_out_default(*plugin, name);
  });
  if (!value) return {};
  if (const auto* real = std::get_if<double>(&*value)) return *real;
  if (const auto* integer = std::get_if<std::int64_t>(&*value)) {
    return static_cast<double>(*integer);
  }
  return {};
}

const std::optional<Expression>& MemoryEstimator::compiled(const std::string& text) {
  const auto [entry, added] = compiled_.try_emplace(text);
  if (added && !text.empty()) {
    if (auto expression = Expression::compile(text)) entry->second = std::move(*expression);
  }
  return entry->second;
}

Value MemoryEstimator::preset_field(const Parameters& parameters, const std::string& name) const {
  for (const auto& [preset, fields] : around_.experiment.presets) {
    const std::string parameter = preset.substr(0, preset.find('/'));
    if (preset.substr(parameter.size() + 1) != to_text(parameters(parameter))) continue;
    const auto field = fields.find(name);
    if (field != fields.end() && field->is_number_integer()) return field->get<std::int64_t>();
    if (field != fields.end() && field->is_number()) return field->get<double>();
  }
  return {};
}

bool MemoryEstimator::runs(std::initializer_list<std::string_view> passes) const {
  return std::any_of(passes.begin(), passes.end(), [&](std::string_view pass) {
    const auto& planned = around_.experiment.passes;
    return std::find(planned.begin(), planned.end(), pass) != planned.end();
  });
}

}  // namespace assay::run
