#include <fmt/format.h>

#include <array>

#include "catalogue/catalogue.h"

namespace assay::catalogue {

namespace {

constexpr std::array<const char*, 8> type_names = {"boolean", "integer", "real",     "text",
                                                   "choice",  "size",    "duration", "config"};
constexpr std::array<const char*, 3> direction_names = {"lower", "higher", "neither"};

template <class Names>
std::size_t index_of(const Names& names, const std::string& name) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (name == names[i]) return i;
  }
  throw std::invalid_argument(fmt::format("unknown word '{}' in a catalogue", name));
}

nlohmann::json value_to_json(const Value& value) {
  return std::visit(
      [](const auto& held) -> nlohmann::json {
        if constexpr (std::is_same_v<std::decay_t<decltype(held)>, std::monostate>) {
          return nullptr;
        } else {
          return held;
        }
      },
      value);
}

Value value_from_json(const nlohmann::json& json) {
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_integer()) return json.get<std::int64_t>();
  if (json.is_number()) return json.get<double>();
  if (json.is_string()) return json.get<std::string>();
  return {};
}

nlohmann::json parameters_to_json(const std::vector<ParameterInfo>& parameters);

nlohmann::json parameter_to_json(const ParameterInfo& parameter) {
  nlohmann::json json = {{"name", parameter.name},
                         {"type", type_names[static_cast<std::size_t>(parameter.type)]},
                         {"default", value_to_json(parameter.default_value)},
                         {"description", parameter.description},
                         {"unit", parameter.unit},
                         {"choices", parameter.choices},
                         {"config_folder", parameter.config_folder},
                         {"fields", parameters_to_json(parameter.fields)}};
  if (parameter.minimum) json["minimum"] = *parameter.minimum;
  if (parameter.maximum) json["maximum"] = *parameter.maximum;
  return json;
}

nlohmann::json parameters_to_json(const std::vector<ParameterInfo>& parameters) {
  nlohmann::json json = nlohmann::json::array();
  for (const ParameterInfo& parameter : parameters) json.push_back(parameter_to_json(parameter));
  return json;
}

ParameterInfo parameter_from_json(const nlohmann::json& json) {
  ParameterInfo parameter;
  parameter.name = json.at("name");
  parameter.type = static_cast<ParameterType>(index_of(type_names, json.at("type")));
  parameter.default_value = value_from_json(json.at("default"));
  parameter.description = json.at("description");
  parameter.unit = json.at("unit");
  parameter.choices = json.at("choices").get<std::vector<std::string>>();
  parameter.config_folder = json.at("config_folder");
  for (const auto& field : json.at("fields")) {
    parameter.fields.push_back(parameter_from_json(field));
  }
  if (json.contains("minimum")) parameter.minimum = json.at("minimum");
  if (json.contains("maximum")) parameter.maximum = json.at("maximum");
  return parameter;
}

nlohmann::json metric_to_json(const MetricInfo& metric) {
  return {{"name", metric.name},
          {"unit", metric.unit},
          {"direction", direction_names[static_cast<std::size_t>(metric.direction)]},
          {"description", metric.description},
          {"formula", metric.formula}};
}

MetricInfo metric_from_json(const nlohmann::json& json) {
  return {json.at("name"), json.at("unit"),
          static_cast<Direction>(index_of(direction_names, json.at("direction"))),
          json.at("description"), json.at("formula")};
}

PluginInfo plugin_from_json(const nlohmann::json& json) {
  PluginInfo plugin;
  plugin.kind = json.at("kind");
  plugin.name = json.at("name");
  plugin.description = json.at("description");
  plugin.file = json.at("file");
  for (const auto& parameter : json.at("parameters")) {
    plugin.parameters.push_back(parameter_from_json(parameter));
  }
  plugin.memory_estimate = json.at("memory_estimate");
  plugin.devices = json.at("devices").get<std::vector<std::string>>();
  plugin.uses = json.at("uses").get<std::vector<std::string>>();
  plugin.passes = json.at("passes").get<std::vector<std::string>>();
  plugin.default_passes = json.at("default_passes").get<std::vector<std::string>>();
  for (const auto& metric : json.at("metrics")) plugin.metrics.push_back(metric_from_json(metric));
  plugin.default_clock = json.at("default_clock");
  plugin.command = json.at("command").get<std::vector<std::string>>();
  plugin.workloads = json.at("workloads").get<std::vector<std::string>>();
  plugin.takes_turns = json.at("takes_turns").get<bool>();
  return plugin;
}

}  // namespace

nlohmann::json to_json(const PluginInfo& plugin) {
  nlohmann::json metrics = nlohmann::json::array();
  for (const MetricInfo& metric : plugin.metrics) metrics.push_back(metric_to_json(metric));
  return {{"kind", plugin.kind},
          {"name", plugin.name},
          {"description", plugin.description},
          {"file", plugin.file},
          {"parameters", parameters_to_json(plugin.parameters)},
          {"memory_estimate", plugin.memory_estimate},
          {"devices", plugin.devices},
          {"uses", plugin.uses},
          {"passes", plugin.passes},
          {"default_passes", plugin.default_passes},
          {"metrics", std::move(metrics)},
          {"default_clock", plugin.default_clock},
          {"command", plugin.command},
          {"workloads", plugin.workloads},
          {"takes_turns", plugin.takes_turns}};
}

nlohmann::json to_json(const Catalogue& catalogue) {
  nlohmann::json plugins = nlohmann::json::array();
  for (const PluginInfo& plugin : catalogue.plugins) plugins.push_back(to_json(plugin));
  return {{"fingerprint", catalogue.fingerprint},
          {"versions", catalogue.versions},
          {"plugins", std::move(plugins)}};
}

Result<Catalogue> catalogue_from_json(const nlohmann::json& json) {
  try {
    std::vector<PluginInfo> plugins;
    for (const auto& plugin : json.at("plugins")) plugins.push_back(plugin_from_json(plugin));
    auto catalogue = assemble(json.at("fingerprint"), std::move(plugins));
    if (catalogue) catalogue->versions = json.at("versions");
    return catalogue;
  } catch (const std::exception& exception) {
    return fail(ExitCode::machine_lacks,
                fmt::format("the catalogue of plugins cannot be read: {}", exception.what()),
                "delete it; it is written anew");
  }
}

}  // namespace assay::catalogue
