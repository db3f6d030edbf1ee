#pragma once

#include <assay/detail/boundary.h>

namespace assay::test {

// What a plugin's options are where an experiment sets none.
inline Options default_options(const PluginEntry& entry) {
  PluginDescription description;
  throw_unless_ok(entry.describe(description));
  Options options;
  for (const auto& option : description.parameters) options[option.name] = option.default_value;
  return options;
}

}  // namespace assay::test
