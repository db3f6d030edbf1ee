#pragma once

#include <string>
#include <string_view>

#include "catalogue/catalogue.h"

namespace assay::run {

// What an estimate's expression may name beside a case's own parameters.

// Bytes of a matrix product's operand in this precision.
inline std::int64_t element_size_of(std::string_view precision) {
  return precision.starts_with("bf16") || precision.starts_with("fp16") ? 2 : 4;
}

// Of a parameter that a case does not hold at its default; monostate: the plugin has none.
inline Value left_out_default(const catalogue::PluginInfo& plugin, std::string_view name) {
  for (const ParameterInfo& info : plugin.parameters) {
    if (info.name == name && info.left_out_at_default) return info.default_value;
  }
  return {};
}

}  // namespace assay::run
