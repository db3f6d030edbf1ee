#include "config/read/interleave.h"

#include <fmt/format.h>

#include "config/host_parameters.h"

namespace assay::config {
namespace {

void check_name(const yaml::Node& node, const Vocabulary& vocabulary, Diagnostics& diagnostics) {
  if (!node.is_scalar() || node.text.empty()) return;  // refused elsewhere, or off
  const bool itself = node.text == interleave_setting;
  if (!itself && vocabulary.find(node.text).sort != Vocabulary::Meaning::Sort::unknown) return;
  diagnostics.add(node.where,
                  fmt::format("{}: {}", interleave_setting,
                              itself ? "cases that differ in it are measured differently"
                                     : vocabulary.objection(node.text)),
                  "name the axis whose cases take turns, such as attention");
}

void check_names(const yaml::Node& node, const Vocabulary& vocabulary, Diagnostics& diagnostics) {
  for (const yaml::Node& item : node.one_or_more()) check_name(item, vocabulary, diagnostics);
}

// In fixed, matrix and include; each is a scalar or a list.
std::vector<const yaml::Node*> values_of(const Request& request, std::string_view name) {
  std::vector<const yaml::Node*> values;
  for (const auto* section : {&request.fixed, &request.matrix}) {
    if (const Setting* setting = find_setting(*section, name)) values.push_back(&setting->value);
  }
  for (const yaml::Node& entry : request.include) {
    if (const yaml::Node* node = entry.find(name)) values.push_back(node);
  }
  return values;
}

template <class Fits>
const yaml::Node* first_scalar(const std::vector<const yaml::Node*>& values, Fits fits) {
  for (const yaml::Node* value : values) {
    for (const yaml::Node& item : value->one_or_more()) {
      if (item.is_scalar() && fits(item.text)) return &item;
    }
  }
  return nullptr;
}

// A case that took turns cannot be measured again: the others have ended.
void refuse_retries(const Request& request, const std::vector<const yaml::Node*>& axes,
                    Diagnostics& diagnostics) {
  const auto* retry = first_scalar(values_of(request, "measure.unhealthy"),
                                   [](const std::string& text) { return text == "retry"; });
  const auto* axis = first_scalar(axes, [](const std::string& text) { return !text.empty(); });
  if (retry == nullptr || axis == nullptr) return;
  diagnostics.add(
      retry->where,
      fmt::format("measure.unhealthy: cases that take turns ({}: {}) cannot be measured "
                  "again one by one",
                  interleave_setting, axis->text),
      "use mark or discard, or drop the interleaving");
}

}  // namespace

void check_interleave(const Request& request, const Vocabulary& vocabulary,
                      Diagnostics& diagnostics) {
  const std::vector<const yaml::Node*> axes = values_of(request, interleave_setting);
  for (const yaml::Node* node : axes) check_names(*node, vocabulary, diagnostics);
  refuse_retries(request, axes, diagnostics);
}

}  // namespace assay::config
