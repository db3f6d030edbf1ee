#include "catalogue/catalogue.h"

#include <algorithm>
#include <array>

#include "base/json.h"

namespace assay::catalogue {

namespace {

constexpr std::array<std::string_view, 8> type_names = {"boolean", "integer", "real",     "text",
                                                        "choice",  "size",    "duration", "config"};
constexpr std::array<std::string_view, 2> metric_kind_names = {"number", "text"};
constexpr std::array<std::string_view, 3> direction_names = {"lower", "higher", "neither"};

// Reads one of `words` as the enumerator of its index.
template <class Names, class Enum>
void read_word(FieldReader& fields, const char* name, const Names& words, Enum& into) {
  std::string word;
  fields.text(name, word);
  const auto found = std::find(words.begin(), words.end(), word);
  if (found == words.end()) return fields.wrong(name, "another word than '" + word + "'");
  into = static_cast<Enum>(found - words.begin());
}

nlohmann::json parameters_to_json(const std::vector<ParameterInfo>& parameters);

nlohmann::json parameter_to_json(const ParameterInfo& parameter) {
  nlohmann::json json = {{"name", parameter.name},
                         {"type", type_names[static_cast<std::size_t>(parameter.type)]},
                         {"default", assay::to_json(parameter.default_value)},
                         {"description", parameter.description},
                         {"unit", parameter.unit},
                         {"choices", parameter.choices},
                         {"config_folder", parameter.config_folder},
                         {"fields", parameters_to_json(parameter.fields)},
                         {"left_out_at_default", parameter.left_out_at_default},
                         {"values", parameter.values},
                         {"compiled", parameter.compiled}};
  if (parameter.minimum) json["minimum"] = *parameter.minimum;
  if (parameter.maximum) json["maximum"] = *parameter.maximum;
  return json;
}

nlohmann::json parameters_to_json(const std::vector<ParameterInfo>& parameters) {
  nlohmann::json json = nlohmann::json::array();
  for (const ParameterInfo& parameter : parameters) json.push_back(parameter_to_json(parameter));
  return json;
}

Result<std::int64_t> whole_number(const nlohmann::json& json) {
  if (const auto number = integer_from_json(json)) return *number;
  return fail(ExitCode::bad_input, "a value is no whole number");
}

Result<ParameterInfo> parameter_from_json(const nlohmann::json& json) {
  FieldReader fields(json, "a parameter", FieldReader::Needs::every_field);
  ParameterInfo parameter;
  fields.text("name", parameter.name);
  read_word(fields, "type", type_names, parameter.type);
  fields.value("default", parameter.default_value);
  fields.text("description", parameter.description);
  fields.text("unit", parameter.unit);
  fields.texts("choices", parameter.choices);
  fields.text("config_folder", parameter.config_folder);
  fields.list("fields", parameter_from_json, parameter.fields);
  fields.truth("left_out_at_default", parameter.left_out_at_default);
  fields.list("values", whole_number, parameter.values);
  fields.truth("compiled", parameter.compiled);
  if (fields.has("minimum")) fields.number("minimum", parameter.minimum.emplace());
  if (fields.has("maximum")) fields.number("maximum", parameter.maximum.emplace());
  return fields.finish(std::move(parameter));
}

nlohmann::json metric_to_json(const MetricInfo& metric) {
  return {{"name", metric.name},
          {"unit", metric.unit},
          {"direction", direction_names[static_cast<std::size_t>(metric.direction)]},
          {"description", metric.description},
          {"formula", metric.formula},
          {"kind", metric_kind_names[static_cast<std::size_t>(metric.kind)]}};
}

Result<MetricInfo> metric_from_json(const nlohmann::json& json) {
  FieldReader fields(json, "a metric", FieldReader::Needs::every_field);
  MetricInfo metric;
  fields.text("name", metric.name);
  fields.text("unit", metric.unit);
  read_word(fields, "direction", direction_names, metric.direction);
  fields.text("description", metric.description);
  fields.text("formula", metric.formula);
  read_word(fields, "kind", metric_kind_names, metric.kind);
  return fields.finish(std::move(metric));
}

Result<PluginInfo> plugin_from_json(const nlohmann::json& json) {
  FieldReader fields(json, "a plugin", FieldReader::Needs::every_field);
  PluginInfo plugin;
  fields.text("kind", plugin.kind);
  fields.text("name", plugin.name);
  fields.text("description", plugin.description);
  fields.text("file", plugin.file);
  fields.list("parameters", parameter_from_json, plugin.parameters);
  fields.text("memory_estimate", plugin.memory_estimate);
  fields.text("look_memory_estimate", plugin.look_memory_estimate);
  fields.texts("devices", plugin.devices);
  fields.texts("uses", plugin.uses);
  fields.texts("passes", plugin.passes);
  fields.texts("default_passes", plugin.default_passes);
  fields.texts("unclocked", plugin.unclocked);
  fields.list("metrics", metric_from_json, plugin.metrics);
  fields.text("default_clock", plugin.default_clock);
  fields.texts("command", plugin.command);
  fields.texts("workloads", plugin.workloads);
  fields.truth("takes_turns", plugin.takes_turns);
  return fields.finish(std::move(plugin));
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
          {"look_memory_estimate", plugin.look_memory_estimate},
          {"devices", plugin.devices},
          {"uses", plugin.uses},
          {"passes", plugin.passes},
          {"default_passes", plugin.default_passes},
          {"unclocked", plugin.unclocked},
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
  FieldReader fields(json, "the catalogue", FieldReader::Needs::every_field);
  Catalogue read;
  fields.text("fingerprint", read.fingerprint);
  fields.any("versions", read.versions);
  fields.list("plugins", plugin_from_json, read.plugins);
  if (const auto whole = fields.finish(true); !whole) {
    return fail(ExitCode::machine_lacks,
                "the catalogue of plugins cannot be read: " + whole.error().text(),
                "delete it; it is written anew");
  }
  auto catalogue = assemble(std::move(read.fingerprint), std::move(read.plugins));
  if (catalogue) catalogue->versions = std::move(read.versions);
  return catalogue;
}

}  // namespace assay::catalogue
