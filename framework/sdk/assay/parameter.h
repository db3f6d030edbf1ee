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

// A parameter of a workload or an option of another plugin, as an experiment sets it.
struct ParameterInfo {
  std::string name;
  ParameterType type = ParameterType::integer;
  Value default_value;  // monostate: the experiment must give it
  std::string description;
  std::string unit = {};               // of the plain number; "" where it has none
  std::optional<double> minimum = {};  // inclusive
  std::optional<double> maximum = {};  // inclusive
  std::vector<std::string> choices = {};
  std::string config_folder = {};
  // config only: the fields of its file, which must set those without a default; empty: any fields.
  // A field that the file leaves out is not in CaseContext::presets.
  std::vector<ParameterInfo> fields = {};
  // A case at the default value does not hold the parameter, and plugins read the default. For
  // parameters that are added later: the keys of older cases stay.
  bool left_out_at_default = false;
  // integer only: what it may be; empty: anything within the bounds.
  std::vector<std::int64_t> values = {};
  bool compiled = false;  // see compiled_parameter
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

ParameterInfo left_out_at_default(ParameterInfo parameter);

// An option that is compiled in, such as a tile size: assay builds a library for each value that an
// experiment asks for, from the plugin's sources, with ASSAY_OPTION_<NAME> defined as the value (a
// text as a string literal). The sources define the default where it is not defined:
//
//   #ifndef ASSAY_OPTION_BLOCK_M
//   #define ASSAY_OPTION_BLOCK_M 64
//   #endif
//
// `built_with` is ASSAY_OPTION_<NAME>: so a library says which value it has. `values`: all allowed
// ones, the default among them.
ParameterInfo compiled_parameter(std::string name, std::int64_t built_with,
                                 std::vector<std::int64_t> values, std::string description);
ParameterInfo compiled_parameter(std::string name, const char* built_with,
                                 std::vector<std::string> values, std::string description);

// A plugin's options as the experiment sets them, defaults filled in, types as declared.
using Options = std::map<std::string, Value>;

}  // namespace assay
