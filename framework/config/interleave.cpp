#include "config/interleave.h"

#include <fmt/format.h>

#include "config/host_parameters.h"

namespace assay::config {
namespace {

void check_name(const yaml::Node& node, const Vocabulary& vocabulary, Diagnostics& diagnostics) {
  if (!node.is_scalar() || node.text.empty()) return;  // off, or refused for what it is
  const bool itself = node.text == interleave_setting;
  if (!itself && vocabulary.find(node.text).sort != Vocabulary::Meaning::Sort::unknown) return;
  diagnostics.add(node.where,
                  fmt::format("{}: {}", interleave_setting,
                              itself ? "cases that differ in it are not measured alike"
                                     : vocabulary.objection(node.text)),
                  "name the axis whose cases take turns, such as attention");
}

void check_names(const yaml::Node& node, const Vocabulary& vocabulary, Diagnostics& diagnostics) {
  check_name(node, vocabulary, diagnostics);
  for (const yaml::Node& item : node.items) check_name(item, vocabulary, diagnostics);
}

}  // namespace

void check_interleave(const Request& request, const Vocabulary& vocabulary,
                      Diagnostics& diagnostics) {
  for (const auto* section : {&request.fixed, &request.matrix}) {
    if (const Setting* setting = find_setting(*section, interleave_setting)) {
      check_names(setting->value, vocabulary, diagnostics);
    }
  }
  for (const yaml::Node& entry : request.include) {
    if (const yaml::Node* node = entry.find(interleave_setting)) {
      check_names(*node, vocabulary, diagnostics);
    }
  }
}

}  // namespace assay::config
