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

// What a parameter accepts, in words: "an integer from 1 to 4096", "one of auto, cpu, cuda".
std::string accepted(const ParameterInfo& info);

// Checks scalars against what parameters accept, and reads the configs they name on the way.
class ValueChecker {
 public:
  // `known`: configs as configs() has them, which come before the files.
  ValueChecker(const Presets& presets, Diagnostics& diagnostics,
               const std::map<std::string, nlohmann::json>& known)
      : presets_(presets), diagnostics_(diagnostics), known_(known) {}

  // The value in the parameter's own type: sizes in bytes, durations in seconds. Nothing, and a
  // diagnostic that starts with `name`, when it does not fit.
  std::optional<Value> check(const std::string& name, const yaml::Node& node,
                             const ParameterInfo& info);

  // Reads the config a default names; `where` is what the default stands in for.
  void check_default(const std::string& name, const ParameterInfo& info,
                     const SourceLocation& where);

  // "model/small" → its contents, for every config named so far.
  const std::map<std::string, nlohmann::json>& configs() const { return configs_; }

 private:
  bool read_config(const std::string& name, const std::string& value, const ParameterInfo& info,
                   const SourceLocation& where);
  nlohmann::json check_fields(const yaml::Node& config, const ParameterInfo& info);

  const Presets& presets_;
  Diagnostics& diagnostics_;
  const std::map<std::string, nlohmann::json>& known_;
  std::map<std::string, nlohmann::json> configs_;
  std::set<std::string> wrong_configs_;  // whose mistakes have been told
};

}  // namespace assay::config
