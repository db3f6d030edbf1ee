#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/text.h"
#include "config/host_parameters.h"
#include "config/read/request.h"
#include "config/read/value_check.h"
#include "config/suite.h"
#include "report/read/schema.h"

// The reference of keys in docs/, made from the declarations of readers and schema.
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

inline std::string words_of(const json& schema) {
  if (schema.contains("$ref")) {
    const std::string reference = schema["$ref"];
    const std::string name = reference.substr(reference.rfind('/') + 1);
    if (name == "experiment") return "an experiment";
    if (reference.find("/experiment/") != std::string::npos) return "sections";
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
  if (first == "null") return "nothing";
  return "text";
}

struct KeyRow {
  std::string key, text;
  bool operator==(const KeyRow&) const = default;
};
using KeyRows = std::vector<KeyRow>;

inline KeyRows rows_of(const json& schema);

inline void add_below(const std::string& prefix, const KeyRows& inner, KeyRows& rows) {
  for (const KeyRow& row : inner) rows.push_back({prefix + row.key, row.text});
}

// Each key, then the keys below all of them; those that every one has as `*.key`.
inline KeyRows rows_of_properties(const json& properties) {
  KeyRows rows, shared;
  std::map<std::string, KeyRows> below;
  for (const auto& [key, value] : properties.items()) {
    if (KeyRows inner = rows_of(value); !inner.empty()) below[key] = std::move(inner);
  }
  if (below.size() > 2) {
    std::ranges::copy_if(below.begin()->second, std::back_inserter(shared), [&](const KeyRow& row) {
      return std::ranges::all_of(
          below, [&](const auto& of_key) { return std::ranges::count(of_key.second, row) > 0; });
    });
  }
  for (const auto& [key, value] : properties.items()) {
    rows.push_back({key, words_of(value) + " | " + value.value("description", "")});
    KeyRows inner = below[key];
    std::erase_if(inner, [&](const KeyRow& row) { return std::ranges::count(shared, row) > 0; });
    add_below(key + ".", inner, rows);
  }
  add_below("*.", shared, rows);
  return rows;
}

inline KeyRows rows_of(const json& schema) {
  KeyRows rows = rows_of_properties(schema.value("properties", json::object()));
  if (schema.value("items", json()).is_object()) add_below("", rows_of(schema["items"]), rows);
  if (schema.value("additionalProperties", json()).is_object()) {
    add_below("NAME.", rows_of(schema["additionalProperties"]), rows);
  }
  // A value or a list of it has the value's keys.
  for (const json& alternative : schema.value("anyOf", json::array())) {
    if (alternative.value("type", json()) != "array") add_below("", rows_of(alternative), rows);
  }
  return rows;
}

inline std::string table_of_keys(const KeyRows& rows) {
  std::string text = "| key | value | meaning |\n|:----|:------|:--------|\n";
  for (const KeyRow& row : rows) text += fmt::format("| `{}` | {} |\n", row.key, row.text);
  return text;
}

// A table for each construct of reports, without the rows of another that it shares.
inline std::string report_reference() {
  const json definitions = report_schema()["definitions"];
  const std::map<std::string, std::string> bases = {
      {"column", "figure"}, {"pivot", "figure"}, {"row", "column"}, {"text", "table"}};
  std::string text;
  for (const char* name :
       {"block", "table", "text", "figure", "column", "row", "pivot", "plot", "timeline", "flame",
        "artefacts", "filter", "cells", "statistic", "unit", "format"}) {
    KeyRows rows = rows_of(definitions[name]);
    text += fmt::format("### {}\n\n", name);
    if (const auto base = bases.find(name); base != bases.end()) {
      const KeyRows known = rows_of(definitions[base->second]);
      std::vector<std::string> same;
      std::erase_if(rows, [&](const KeyRow& row) {
        if (!std::ranges::count(known, row)) return false;
        if (row.key.find('.') == std::string::npos) same.push_back("`" + row.key + "`");
        return true;
      });
      text += fmt::format("As in [{0}](#{0}): {1}.\n\n", base->second, join(same, ", "));
    }
    text += (rows.empty() ? words_of(definitions[name]) + ".\n" : table_of_keys(rows)) + "\n";
  }
  return text;
}

// The keys of experiments and the settings of every workload.
inline std::string experiment_reference() {
  std::string host, measure;
  for (const ParameterInfo& info : config::host_parameters()) {
    const bool measuring = info.name.starts_with("measure.");
    const std::string value = to_text(info.default_value);
    (measuring ? measure : host) += fmt::format(
        "| `{}` | {} | {} | {} |\n", measuring ? info.name.substr(8) : info.name,
        config::accepted(info), value.empty() ? "" : "`" + value + "`", info.description);
  }
  const std::string head =
      "| key | value | default | meaning |\n|:----|:------|:------|:--------|\n";
  return table_of_keys(rows_of(yaml::object_schema(config::request_keys()))) +
         "\nWhatever the workload, a case has\n\n" + head + host +
         "\nand below `measure`, beside `passes`,\n\n" + head + measure;
}

inline std::string suite_reference() { return table_of_keys(rows_of(config::suite_schema())); }

}  // namespace assay::report::testing_support
