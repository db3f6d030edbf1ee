#pragma once

#include <assay/value.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace assay {

enum class ParameterType {
  boolean,
  integer,
  real,
  text,
  choice,    // one of `choices`
  size,      // bytes; written with a unit, "100 MiB" or "1 GB"
  duration,  // seconds; written with a unit, "30 s" or "5 min"
  config,    // the name of a file under configs/<config_folder>/, without .yaml
};

// A parameter of a workload or an option of any other plugin: what an experiment may say.
struct ParameterInfo {
  std::string name;
  ParameterType type = ParameterType::integer;
  Value default_value;  // monostate: the experiment must give it
  std::string description;
  std::string unit = {};               // of the plain number, "" where there is none
  std::optional<double> minimum = {};  // inclusive
  std::optional<double> maximum = {};  // inclusive
  std::vector<std::string> choices = {};
  std::string config_folder = {};
  // Of a config: what its file must say, each entry of it. None: it may say anything.
  std::vector<ParameterInfo> fields = {};
};

ParameterInfo integer_parameter(std::string name, std::int64_t default_value, double minimum,
                                double maximum, std::string description);
ParameterInfo real_parameter(std::string name, double default_value, double minimum, double maximum,
                             std::string description);
ParameterInfo boolean_parameter(std::string name, bool default_value, std::string description);
ParameterInfo choice_parameter(std::string name, std::string default_value,
                               std::vector<std::string> choices, std::string description);
ParameterInfo config_parameter(std::string name, std::string default_value, std::string folder,
                               std::string description, std::vector<ParameterInfo> fields = {});

// The options an experiment gave for this plugin, defaults filled in; types as declared.
using Options = std::map<std::string, Value>;

}  // namespace assay
