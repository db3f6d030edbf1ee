#include <assay/parameter.h>

#include <utility>

namespace assay {
namespace {

ParameterInfo parameter(std::string name, ParameterType type, Value default_value,
                        std::string description) {
  ParameterInfo info;
  info.name = std::move(name);
  info.type = type;
  info.default_value = std::move(default_value);
  info.description = std::move(description);
  return info;
}

}  // namespace

ParameterInfo integer_parameter(std::string name, std::int64_t default_value, double minimum,
                                double maximum, std::string description) {
  ParameterInfo info =
      parameter(std::move(name), ParameterType::integer, default_value, std::move(description));
  info.minimum = minimum;
  info.maximum = maximum;
  return info;
}

ParameterInfo real_parameter(std::string name, double default_value, double minimum, double maximum,
                             std::string description) {
  ParameterInfo info =
      parameter(std::move(name), ParameterType::real, default_value, std::move(description));
  info.minimum = minimum;
  info.maximum = maximum;
  return info;
}

ParameterInfo boolean_parameter(std::string name, bool default_value, std::string description) {
  return parameter(std::move(name), ParameterType::boolean, default_value, std::move(description));
}

ParameterInfo choice_parameter(std::string name, std::string default_value,
                               std::vector<std::string> choices, std::string description) {
  ParameterInfo info = parameter(std::move(name), ParameterType::choice, std::move(default_value),
                                 std::move(description));
  info.choices = std::move(choices);
  return info;
}

ParameterInfo config_parameter(std::string name, std::string default_value, std::string folder,
                               std::string description, std::vector<ParameterInfo> fields) {
  ParameterInfo info = parameter(std::move(name), ParameterType::config, std::move(default_value),
                                 std::move(description));
  info.config_folder = std::move(folder);
  info.fields = std::move(fields);
  return info;
}

ParameterInfo left_out_at_default(ParameterInfo parameter) {
  parameter.left_out_at_default = true;
  return parameter;
}

ParameterInfo compiled_parameter(std::string name, std::int64_t built_with,
                                 std::vector<std::int64_t> values, std::string description) {
  ParameterInfo info =
      parameter(std::move(name), ParameterType::integer, built_with, std::move(description));
  info.values = std::move(values);
  info.compiled = true;
  return info;
}

ParameterInfo compiled_parameter(std::string name, const char* built_with,
                                 std::vector<std::string> values, std::string description) {
  ParameterInfo info =
      choice_parameter(std::move(name), built_with, std::move(values), std::move(description));
  info.compiled = true;
  return info;
}

}  // namespace assay
