#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>
#include <vector>

#include "report/read/reader.h"
#include "yaml/keys.h"

namespace assay::report {
namespace shape {

using nlohmann::json;

// One of the schema's `definitions`.
inline json refer(const std::string& name) { return {{"$ref", "#/definitions/" + name}}; }
inline json text() { return {{"type", {"string", "number", "boolean"}}}; }
inline json text_or(const json& other) { return {{"anyOf", {text(), other}}}; }
inline json list_of(const json& item) { return {{"type", "array"}, {"items", item}}; }
inline json one_or_list(const json& item) { return {{"anyOf", {item, list_of(item)}}}; }
inline json by_name(const json& value) {
  return {{"type", "object"}, {"additionalProperties", value}};
}
inline json words(const std::vector<std::string>& choices) { return {{"enum", choices}}; }
// What an editor offers; other text is accepted, too.
inline json suggested(const std::vector<std::string>& choices) {
  return {{"anyOf", {words(choices), {{"type", "string"}}}}};
}

inline auto axis() { return yaml::Shape{text(), &Reader::axis}; }
inline auto unit() { return yaml::Shape{refer("unit"), &Reader::unit}; }
inline auto cells() { return yaml::Shape{refer("cells"), &Reader::cells}; }

// What stands for the samples of a time.
inline auto centre() {
  const std::vector<std::string> names{"median", "mean"};
  return yaml::Shape{words(names),
                     [names](Reader& reader, const yaml::Node& node) -> std::optional<Centre> {
                       const std::string word = reader.choice(node, "statistic of times", names);
                       if (word.empty()) return std::nullopt;
                       return word == "mean" ? Centre::mean : Centre::median;
                     }};
}

// `what` names the value in messages.
inline auto template_of(std::string what) {
  return yaml::Shape{text(), [what](Reader& reader, const yaml::Node& node) {
                       return reader.text_template(node, what);
                     }};
}
inline auto choice(std::string what, std::vector<std::string> choices) {
  return yaml::Shape{words(choices), [what, choices](Reader& reader, const yaml::Node& node) {
                       return reader.choice(node, what, choices);
                     }};
}

template <class Read>
auto list_of_values(const yaml::Shape<Read>& item) {
  return yaml::Shape{one_or_list(item.schema),
                     [read = item.read](Reader& reader, const yaml::Node& node) {
                       std::vector<std::invoke_result_t<Read, Reader&, const yaml::Node&>> values;
                       for (const yaml::Node& value : node.one_or_more()) {
                         values.push_back(std::invoke(read, reader, value));
                       }
                       return values;
                     }};
}

template <class Value>
auto of_type() {
  if constexpr (std::is_same_v<Value, std::string>) {
    return yaml::Shape{text(), &Reader::text};
  } else if constexpr (std::is_same_v<Value, bool>) {
    return yaml::Shape{json{{"type", "boolean"}}, &Reader::boolean};
  } else if constexpr (std::is_same_v<Value, std::size_t>) {
    return yaml::Shape{json{{"type", "integer"}, {"minimum", 0}}, &Reader::count};
  } else if constexpr (std::is_same_v<Value, Template>) {
    return yaml::Shape{text(), &Reader::text_template};
  } else if constexpr (std::is_same_v<Value, Expression>) {
    return yaml::Shape{text(), &Reader::expression};
  } else if constexpr (std::is_same_v<Value, const MetricInfo*>) {
    return yaml::Shape{text(), &Reader::metric};
  } else if constexpr (std::is_same_v<Value, Format>) {
    return yaml::Shape{refer("format"), &Reader::format};
  } else if constexpr (std::is_same_v<Value, Filter>) {
    return yaml::Shape{refer("filter"), &Reader::filter};
  } else if constexpr (std::is_same_v<Value, std::vector<Outcome>>) {
    return yaml::Shape{one_or_list(text()), &Reader::outcomes};
  } else if constexpr (std::is_same_v<Value, std::vector<std::string>>) {
    return yaml::Shape{one_or_list(text()), &Reader::axes};
  } else {
    return yaml::Shape{by_name(text()), &Reader::text_map};
  }
}

}  // namespace shape

// The shape of a member of this type unless its key names one; a list of texts is a list of axes.
template <class Value>
auto usual_shape(const Reader*, std::type_identity<Value>) {
  return shape::of_type<Value>();
}
template <class Value>
auto usual_shape(const Reader*, std::type_identity<std::optional<Value>>) {
  return shape::of_type<Value>();
}

// The keys of a block repeated for each value of some axes.
template <class Spec>
Keys<Spec> repeated(const char* what) {
  return {{"title", "Its heading, a template over the axes of `for_each`.", &Spec::title},
          {"for_each", what, &Spec::for_each}};
}

}  // namespace assay::report
