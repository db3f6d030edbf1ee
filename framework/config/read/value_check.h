#pragma once

#include <assay/parameter.h>

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>

#include "config/presets.h"
#include "config/read/diagnostics.h"
#include "yaml/document.h"

namespace assay::config {

// A parameter's values in words: "an integer from 1 to 4096", "one of auto, cpu, cuda".
std::string accepted(const ParameterInfo& info);

class ValueChecker {
 public:
  // `known`: stored configs by the keys of configs(); they precede files.
  ValueChecker(const Presets& presets, Diagnostics& diagnostics,
               const std::map<std::string, nlohmann::json>& known)
      : presets_(presets), diagnostics_(diagnostics), known_(known) {}

  // Sizes in bytes, durations in seconds. nullopt and a diagnostic if the node does not fit.
  std::optional<Value> check(const std::string& name, const yaml::Node& node,
                             const ParameterInfo& info);

  // Reads the config that a default names.
  void check_default(const std::string& name, const ParameterInfo& info,
                     const SourceLocation& where);

  // "model/small" → its contents, for each config so far.
  const std::map<std::string, nlohmann::json>& configs() const { return configs_; }

 private:
  bool read_config(const std::string& name, const std::string& value, const ParameterInfo& info,
                   const SourceLocation& where);
  nlohmann::json check_fields(const yaml::Node& config, const ParameterInfo& info);

  const Presets& presets_;
  Diagnostics& diagnostics_;
  const std::map<std::string, nlohmann::json>& known_;
  std::map<std::string, nlohmann::json> configs_;
  std::set<std::string> wrong_configs_;  // already reported
};

}  // namespace assay::config
