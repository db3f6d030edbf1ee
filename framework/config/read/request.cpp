#include "config/read/request.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "config/host_parameters.h"
#include "config/suite.h"
#include "yaml/values.h"

namespace assay::config {
namespace {

using nlohmann::json;
using yaml::Node;

constexpr std::string_view measure_prefix = "measure.";

bool is_experiment_name(const std::string& name) {
  return !name.empty() &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_-") == std::string::npos;
}

template <class Target>
void read_section(const yaml::Keys<Diagnostics, Target>& keys, const Node& node,
                  Diagnostics& diagnostics, Target& target) {
  yaml::read_keys(keys, node, diagnostics, target, [&](const Node& key) {
    diagnostics.add(key.where, fmt::format("unknown key '{}'{}", key.text,
                                           suggestion(key.text, yaml::names_of(keys))));
  });
}

// nullptr after a complaint; mapping() also without one, for an empty section.
const Node* scalar(Diagnostics& diagnostics, const Node& node, const std::string& key) {
  if (node.is_scalar() && !node.text.empty()) return &node;
  diagnostics.add(node.where, fmt::format("'{}' must be text", key));
  return nullptr;
}

const Node* mapping(Diagnostics& diagnostics, const Node& node, const std::string& key) {
  if (node.is_mapping()) return &node;
  if (!node.is_null()) {
    diagnostics.add(node.where, fmt::format("'{}' must be a mapping of names to values", key));
  }
  return nullptr;
}

auto list_of(Node::Kind kind, const char* what, const json& item) {
  const auto read = [kind, what](Diagnostics& diagnostics, const Node& node,
                                 const std::string& key) {
    std::vector<Node> entries;
    if (!node.is_sequence() && !node.is_null()) {
      diagnostics.add(node.where, fmt::format("'{}' must be a list", key));
    }
    for (const Node& entry : node.items) {
      if (entry.kind == kind) {
        entries.push_back(entry);
      } else {
        diagnostics.add(entry.where, fmt::format("an entry of '{}' must be {}", key, what));
      }
    }
    return entries;
  };
  return yaml::Shape{json{{"type", {"array", "null"}}, {"items", item}}, read};
}

auto entries() {
  return list_of(Node::Kind::mapping, "a mapping of names",
                 {{"type", "object"}, {"minProperties", 1}});
}

void add_settings(const Node& section, std::vector<Setting>& settings) {
  for (const auto& [key, value] : section.entries) {
    settings.push_back({key.text, value, key.where, false, false});
  }
}

void read_name(Diagnostics& diagnostics, const Node& node, Request& request) {
  if (!scalar(diagnostics, node, "experiment")) return;
  if (!is_experiment_name(node.text)) {
    diagnostics.add(node.where, fmt::format("'{}' cannot name an experiment", node.text),
                    "use lower-case letters, digits, '_' and '-'");
  }
  request.name = node.text;
}

void read_measure(Diagnostics& diagnostics, const Node& node, Request& request) {
  if (!mapping(diagnostics, node, "measure")) return;
  std::vector<std::string> known{"passes"};
  for (const ParameterInfo& info : host_parameters()) {
    if (info.name.starts_with(measure_prefix)) {
      known.push_back(info.name.substr(measure_prefix.size()));
    }
  }
  for (const auto& [key, value] : node.entries) {
    std::string name = std::string(measure_prefix) + key.text;
    if (key.text == "passes") {
      request.passes = value;
    } else if (find_host_parameter(name)) {
      request.fixed.push_back({std::move(name), value, key.where, false, true});
    } else {
      diagnostics.add(key.where,
                      fmt::format("unknown key '{}'{}", key.text, suggestion(key.text, known)));
    }
  }
}

// A list of observers is one value of a case, unlike the list of an axis.
void read_observe(Diagnostics& diagnostics, const Node& node, Request& request) {
  Node joined = node;
  joined.kind = Node::Kind::scalar;
  joined.items.clear();
  std::vector<std::string> names;
  for (const Node& item : node.one_or_more()) {
    if (scalar(diagnostics, item, "an observer")) names.push_back(item.text);
  }
  joined.text = join(names, ", ");
  request.fixed.push_back({std::string(observe_setting), joined, node.where, false, true});
}

constexpr std::int64_t most_cases = 100'000'000;

const yaml::Keys<Diagnostics, Request>& limit_keys() {
  static const yaml::Keys<Diagnostics, Request> keys = {
      {"cases",
       "The most cases an experiment may have; 1,000,000 by default.",
       {{"type", "integer"}, {"minimum", 1}, {"maximum", most_cases}},
       read_case_limit}};
  return keys;
}

void read_limits(Diagnostics& diagnostics, const Node& node, Request& request) {
  if (mapping(diagnostics, node, "limits")) {
    read_section(limit_keys(), node, diagnostics, request);
  }
}

void check_keys(const Node& root, Request& request, Diagnostics& diagnostics) {
  for (const char* key : {"experiment", "workload"}) {
    if (root.find(key)) continue;
    diagnostics.add(root.where, fmt::format("the key '{}' is missing", key),
                    fmt::format("write '{}: ...' at the top", key));
  }
  for (const auto& [key, value] : root.entries) {
    if (key.text == "exclude") request.exclude_where = key.where;
    // Its axes are comments, or not indented enough.
    if (key.text == "matrix" && value.is_null()) {
      diagnostics.add(key.where, "'matrix' must be a mapping of names to values",
                      "give it an axis, such as `seq_len: [128, 256]`, or leave it out");
    }
  }
}

}  // namespace

const yaml::Keys<Diagnostics, Request>& request_keys() {
  const json names_to_values = {{"type", {"object", "null"}}};
  static const yaml::Keys<Diagnostics, Request> keys = {
      {"experiment",
       "Name of the experiment; also of its report.",
       {{"type", "string"}, {"pattern", "^[a-z0-9_-]+$"}},
       read_name},
      {"title", "Heading of the report.", yaml::Shape{json{{"type", {"string", "number"}}}, scalar},
       [](Request& request, const Node* node) {
         if (node) request.title = node->text;
       }},
      {"workload", "What is measured.", yaml::Shape{json::object(), scalar},
       [](Request& request, const Node* node) {
         if (node) request.workload = *node;
       }},
      {"matrix", "Axes: a case for every combination of their values.",
       yaml::Shape{json{{"type", "object"}}, mapping},
       [](Request& request, const Node* node) {
         if (!node) return;
         request.matrix_where = node->where;
         add_settings(*node, request.matrix);
       }},
      {"exclude", "Cases of the matrix to leave out.", entries(), &Request::exclude},
      {"include", "Cases to add.", entries(), &Request::include},
      {"zip", "Axes that move together.",
       list_of(Node::Kind::sequence, "a list of axis names",
               {{"type", "array"}, {"items", {{"type", "string"}}}, {"minItems", 2}}),
       &Request::zip},
      {"fixed", "Values that are the same in all cases.", yaml::Shape{names_to_values, mapping},
       [](Request& request, const Node* node) {
         if (node) add_settings(*node, request.fixed);
       }},
      {"measure", "Passes, and how they are measured.", names_to_values, read_measure},
      {"observe",
       "Observers that look at further steps of every pass after all have been timed.",
       {{"type", {"array", "string"}}, {"items", {{"type", "string"}}}},
       read_observe},
      {"report", "Sections of the report, in order.", json::object(),
       [](Diagnostics&, const Node& node, Request& request) { request.report = node; }},
      {"limits", "How large the experiment may grow.", yaml::object_schema(limit_keys()),
       read_limits}};
  return keys;
}

Request read_request(const Node& root, Diagnostics& diagnostics) {
  Request request;
  request.matrix_where = root.where;
  if (!root.is_mapping()) {
    diagnostics.add(root.where, "an experiment is a mapping of keys",
                    "known keys: " + join(yaml::names_of(request_keys()), ", "));
    return request;
  }
  if (is_suite(root)) {
    diagnostics.add(root.where, "this is a suite, and an experiment is expected",
                    "name the experiment of one of its chapters");
    return request;
  }
  read_section(request_keys(), root, diagnostics, request);
  check_keys(root, request, diagnostics);
  if (request.title.empty()) request.title = request.name;
  return request;
}

const Setting* find_setting(const std::vector<Setting>& settings, std::string_view name) {
  const auto found = std::find_if(settings.begin(), settings.end(),
                                  [&](const Setting& setting) { return setting.name == name; });
  return found == settings.end() ? nullptr : &*found;
}

void read_case_limit(Diagnostics& diagnostics, const Node& node, Request& request) {
  const Value value = yaml::to_value(node);
  const auto* limit = std::get_if<std::int64_t>(&value);
  if (limit && *limit >= 1 && *limit <= most_cases) {
    request.case_limit = static_cast<std::size_t>(*limit);
  } else {
    diagnostics.add(node.where,
                    fmt::format("limits.cases must be an integer from 1 to {}", most_cases));
  }
}

}  // namespace assay::config
