#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "config/experiment.h"
#include "config/host_parameters.h"
#include "config/presets.h"
#include "config/read/request.h"
#include "config/vocabulary.h"

namespace assay::config {
namespace {

using nlohmann::json;
using yaml::described;
using yaml::object_schema;

json any_of(std::vector<json> alternatives) {
  if (alternatives.size() == 1) return alternatives[0];
  return {{"anyOf", std::move(alternatives)}};
}

json one_or_list(const json& value) {
  return any_of(
      {value, {{"type", "array"}, {"items", value}, {"minItems", 1}, {"uniqueItems", true}}});
}

// `zip` may tie a value to several others.
json one_or_axis(const json& value) {
  return any_of({value, {{"type", "array"}, {"items", value}, {"minItems", 1}}});
}

json quantity(std::string_view units) {
  return {{"type", "string"},
          {"pattern", fmt::format("^ *[0-9.]+([eE][-+]?[0-9]+)? *({}) *$", units)}};
}

json bounded(const char* type, const ParameterInfo& info) {
  json schema = {{"type", type}};
  if (info.minimum) schema["minimum"] = *info.minimum;
  if (info.maximum) schema["maximum"] = *info.maximum;
  return schema;
}

class SchemaWriter {
 public:
  explicit SchemaWriter(const Environment& environment)
      : catalogue_(*environment.catalogue), presets_(environment.configs, {}) {}

  json write() const {
    json workloads = json::array();
    json conditions = json::array();
    for (const auto* workload : catalogue_.of_kind("workload")) {
      workloads.push_back(workload->name);
      conditions.push_back({{"if", {{"properties", {{"workload", {{"const", workload->name}}}}}}},
                            {"then", {{"properties", sections(*workload)}}}});
    }
    json schema = object_schema(request_keys());
    schema["properties"]["workload"]["enum"] = workloads;
    schema["$schema"] = "http://json-schema.org/draft-07/schema#";
    schema["title"] = "assay experiment";
    schema["required"] = {"experiment", "workload"};
    schema["allOf"] = std::move(conditions);
    return schema;
  }

 private:
  json sections(const catalogue::PluginInfo& workload) const {
    const Vocabulary vocabulary(catalogue_, workload);
    json axes = json::object();
    json fixed = json::object();
    json excluded = json::object();
    for (const auto& [name, value] : names(vocabulary)) {
      axes[name] = described(one_or_axis(value.schema), value.description);
      fixed[name] = described(value.schema, value.description);
      excluded[name] = described(one_or_list(value.plain), value.description);
    }
    json fixed_section = object_schema(fixed);
    fixed_section["type"] = {"object", "null"};
    return {{"matrix", object_schema(axes)},
            {"fixed", fixed_section},
            {"exclude", {{"items", object_schema(excluded)}}},
            {"include", {{"items", object_schema(fixed)}}},
            {"measure", measure(workload)}};
  }

  struct Named {
    json schema;
    json plain;  // without options
    std::string description;
  };

  std::map<std::string, Named> names(const Vocabulary& vocabulary) const {
    std::map<std::string, Named> names;
    const auto add = [&](const ParameterInfo& info) {
      const json schema = value(info);
      names[info.name] = {schema, schema, info.description};
    };
    for (const ParameterInfo& info : host_parameters()) add(info);
    for (const ParameterInfo& info : vocabulary.workload().parameters) add(info);
    for (const std::string& kind : vocabulary.workload().uses) add_kind(kind, vocabulary, names);
    return names;
  }

  void add_kind(const std::string& kind, const Vocabulary& vocabulary,
                std::map<std::string, Named>& names) const {
    json plain = json::array();
    json with_options = json::object();
    std::vector<std::string> lines;
    std::map<std::string, std::vector<json>> options;
    for (const auto* plugin : vocabulary.variants(kind)) {
      plain.push_back(plugin->name);
      lines.push_back(plugin->name + ": " + plugin->description);
      json properties = json::object();
      for (const ParameterInfo& info : plugin->parameters) {
        properties[info.name] = described(one_or_list(value(info)), info.description);
        std::vector<json>& known = options[kind + "." + info.name];
        if (std::find(known.begin(), known.end(), value(info)) == known.end()) {
          known.push_back(value(info));
        }
        names[kind + "." + info.name].description = info.description;
      }
      with_options[plugin->name] =
          described(object_schema(std::move(properties)), plugin->description);
      with_options[plugin->name]["type"] = {"object", "null"};
    }
    json mapping = object_schema(std::move(with_options));
    mapping["minProperties"] = 1;
    mapping["maxProperties"] = 1;
    const json name = {{"enum", std::move(plain)}};
    names[kind] = {any_of({name, std::move(mapping)}), name, join(lines, "\n")};
    for (auto& [option, alternatives] : options) {
      names[option].schema = names[option].plain = any_of(std::move(alternatives));
    }
  }

  json measure(const catalogue::PluginInfo& workload) const {
    constexpr std::string_view prefix = "measure.";
    json properties = {
        {"passes", described(one_or_list({{"enum", workload.passes}}), "Passes to measure.")}};
    for (const ParameterInfo& info : host_parameters()) {
      if (info.name.starts_with(prefix)) {
        properties[info.name.substr(prefix.size())] = described(value(info), info.description);
      }
    }
    json section = object_schema(std::move(properties));
    section["type"] = {"object", "null"};
    return section;
  }

  json value(const ParameterInfo& info) const {
    switch (info.type) {
      case ParameterType::boolean:
        return {{"type", "boolean"}};
      case ParameterType::integer:
        if (!info.values.empty()) return {{"enum", info.values}};
        return bounded("integer", info);
      case ParameterType::real:
        if (info.unit == share_unit) {
          return any_of({bounded("number", info),
                         {{"type", "string"}, {"pattern", "^[0-9.]+([eE][-+]?[0-9]+)? *%$"}}});
        }
        return bounded("number", info);
      case ParameterType::choice:
        return {{"enum", info.choices}};
      case ParameterType::size:
        return quantity("B|kB|MB|GB|TB|KiB|MiB|GiB|TiB");
      case ParameterType::duration:
        return quantity("ns|us|ms|s|min|h");
      case ParameterType::config:
        return any_of({{{"enum", presets_.names(info.config_folder)}},
                       {{"type", "string"}, {"pattern", "\\.yaml$"}}});
      case ParameterType::text:
        break;
    }
    return {{"type", {"string", "number", "boolean"}}};
  }

  const catalogue::Catalogue& catalogue_;
  Presets presets_;
};

}  // namespace

json experiment_schema(const Environment& environment, json report) {
  json schema = SchemaWriter(environment).write();
  if (report.is_null()) return schema;
  if (report.contains("definitions")) {
    schema["definitions"] = std::move(report["definitions"]);
    report.erase("definitions");
  }
  schema["properties"]["report"].update(report);
  return schema;
}

}  // namespace assay::config
