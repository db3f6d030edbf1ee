#pragma once

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/text.h"
#include "config/host_parameters.h"
#include "config/read/request.h"
#include "config/read/value_check.h"
#include "report/spec/schema.h"

// The reference of keys in docs/, made from the declarations that readers and schema are made from.
namespace assay::report::testing_support {

using nlohmann::json;

inline std::string words_of(const json& schema);

inline std::string words_of_all(const json& alternatives) {
  if (alternatives.size() == 2 && alternatives[1].value("items", json()) == alternatives[0]) {
    return words_of(alternatives[0]) + ", or a list";
  }
  std::vector<std::string> all;
  for (const json& alternative : alternatives) all.push_back(words_of(alternative));
  return join(all, ", or ");
}

inline std::string words_of_choices(const json& choices) {
  std::vector<std::string> all;
  for (const json& choice : choices) all.push_back("`" + choice.get<std::string>() + "`");
  return join(all, ", ");
}

// What may stand for a value.
inline std::string words_of(const json& schema) {
  if (schema.contains("$ref")) {
    const std::string reference = schema["$ref"];
    const std::string name = reference.substr(reference.rfind('/') + 1);
    return fmt::format("[{0}](#{0})", name);
  }
  if (schema.contains("anyOf")) return words_of_all(schema["anyOf"]);
  if (schema.contains("enum")) return words_of_choices(schema["enum"]);
  if (schema.contains("pattern")) return "`" + schema["pattern"].get<std::string>() + "`";
  if (schema.contains("properties")) return "its keys";
  if (schema.value("additionalProperties", json()).is_object()) {
    return "name → " + words_of(schema["additionalProperties"]);
  }
  if (schema.contains("items")) return "list of " + words_of(schema["items"]);
  if (!schema.contains("type")) return "";
  const json& type = schema["type"];
  const std::string first = type.is_array() ? type[0] : type;
  if (first == "boolean") return "`true` or `false`";
  if (first == "integer") return "whole number";
  if (first == "object") return "name → value";
  return "text";
}

inline void add_rows(const json& schema, const std::string& prefix, std::string& rows) {
  const json properties = schema.value("properties", json::object());
  for (const auto& [key, value] : properties.items()) {
    rows += fmt::format("| `{}{}` | {} | {} |\n", prefix, key, words_of(value),
                        value.value("description", ""));
    add_rows(value, prefix + key + ".", rows);
  }
  for (const char* inner : {"items", "additionalProperties"}) {
    if (!schema.value(inner, json()).is_object()) continue;
    add_rows(schema[inner], inner[0] == 'i' ? prefix : prefix + "NAME.", rows);
  }
  // Of a value or a list of it the value alone.
  for (const json& alternative : schema.value("anyOf", json::array())) {
    if (alternative.value("type", json()) != "array") add_rows(alternative, prefix, rows);
  }
}

inline std::string table_of_keys(const std::string& rows) {
  return "| key | value | meaning |\n|:----|:------|:--------|\n" + rows;
}

// Of reports: a table for each construct.
inline std::string report_reference() {
  const json definitions = report_schema()["definitions"];
  std::string text, values;
  for (const char* name : {"block", "table", "column", "row", "pivot", "figure", "text", "plot",
                           "timeline", "flame"}) {
    std::string rows;
    add_rows(definitions[name], "", rows);
    text += fmt::format("### {}\n\n{}\n", name, table_of_keys(rows));
  }
  for (const char* name : {"filter", "cells", "statistic", "unit", "format"}) {
    std::string rows;
    add_rows(definitions[name], "", rows);
    text += fmt::format("### {}\n\n{}\n", name,
                        rows.empty() ? words_of(definitions[name]) + ".\n" : table_of_keys(rows));
  }
  return text;
}

// Of experiments: their own keys, and the settings of every workload.
inline std::string experiment_reference() {
  std::string rows, host, measure;
  add_rows(yaml::object_schema(config::request_keys()), "", rows);
  for (const ParameterInfo& info : config::host_parameters()) {
    const bool measuring = info.name.starts_with("measure.");
    const std::string value = to_text(info.default_value);
    (measuring ? measure : host) += fmt::format(
        "| `{}` | {} | {} | {} |\n", measuring ? info.name.substr(8) : info.name,
        config::accepted(info), value.empty() ? "" : "`" + value + "`", info.description);
  }
  const std::string head =
      "| key | value | default | meaning |\n|:----|:------|:------|:--------|\n";
  return table_of_keys(rows) + "\nWhatever the workload, a case has\n\n" + head + host +
         "\nand below `measure`, beside `passes`,\n\n" + head + measure;
}

}  // namespace assay::report::testing_support
