#include "report/read/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/outcome.h"
#include "base/text.h"
#include "store/records/units.h"

namespace assay::report {

std::string known_names(std::string_view word, const std::vector<std::string>& names) {
  std::string hint;
  if (const auto near = nearest(word, names)) hint = fmt::format("did you mean '{}'? ", *near);
  return hint + (names.empty() ? "there are none" : "known: " + join(names, ", "));
}

void Reader::complain(const SourceLocation& at, std::string message, std::string hint) {
  diagnostics_.push_back({at, std::move(message), std::move(hint)});
}

void Reader::complain_unknown(const SourceLocation& at, std::string_view what,
                              std::string_view word, const std::vector<std::string>& names) {
  complain(at, fmt::format("{} '{}' does not exist", what, word), known_names(word, names));
}

void Reader::complain(const yaml::Node& at, std::string message, std::string hint) {
  complain(at.where, std::move(message), std::move(hint));
}

std::string Reader::text(const yaml::Node& node, std::string_view what) {
  if (node.is_scalar()) return node.text;
  complain(node, fmt::format("{} must be text", what));
  return "";
}

std::vector<std::string> Reader::texts(const yaml::Node& node, std::string_view what) {
  std::vector<std::string> result;
  if (!node.is_scalar() && !node.is_sequence()) {
    complain(node, fmt::format("{} must be text or a list of texts", what));
    return result;
  }
  for (const yaml::Node& item : node.one_or_more()) result.push_back(text(item, what));
  return result;
}

bool Reader::boolean(const yaml::Node& node, std::string_view what) {
  if (node.is_scalar() && !node.quoted && (node.text == "true" || node.text == "false")) {
    return node.text == "true";
  }
  complain(node, fmt::format("{} must be true or false", what));
  return false;
}

std::size_t Reader::count(const yaml::Node& node, std::string_view what) {
  std::size_t value = 0;
  const char* end = node.text.data() + node.text.size();
  if (node.is_scalar()) {
    const auto read = std::from_chars(node.text.data(), end, value);
    if (read.ec == std::errc() && read.ptr == end) return value;
  }
  complain(node, fmt::format("{} must be a whole number", what));
  return 0;
}

std::map<std::string, std::string> Reader::text_map(const yaml::Node& node, std::string_view what) {
  std::map<std::string, std::string> result;
  if (!node.is_mapping()) {
    complain(node, fmt::format("{} must be a mapping from a value to its text", what));
    return result;
  }
  for (const auto& [key, value] : node.entries) result[key.text] = text(value, what);
  return result;
}

std::string Reader::choice(const yaml::Node& node, std::string_view what,
                           const std::vector<std::string>& choices) {
  return choice(node, what, node.is_scalar() ? node.text : "", choices);
}

std::string Reader::choice(const yaml::Node& at, std::string_view what, const std::string& word,
                           const std::vector<std::string>& choices) {
  if (std::count(choices.begin(), choices.end(), word)) return word;
  complain_unknown(at.where, what, word, choices);
  return "";
}

std::string Reader::axis(const yaml::Node& node) {
  if (known_.open && node.is_scalar()) return node.text;
  return choice(node, "axis", known_.axes);
}

std::vector<std::string> Reader::axes(const yaml::Node& node) {
  std::vector<std::string> result;
  for (const yaml::Node& item : node.one_or_more()) {
    std::string name = axis(item);
    if (!name.empty()) result.push_back(std::move(name));
  }
  return result;
}

const MetricInfo* Reader::metric(const yaml::Node& node) {
  const MetricInfo* found = node.is_scalar() ? known_.metric(node.text) : nullptr;
  if (!found) {
    std::vector<std::string> names;
    for (const MetricInfo& metric : known_.metrics) names.push_back(metric.name);
    complain_unknown(node.where, "metric", node.text, names);
  }
  // What all-reduces cost may be known of the machine alone.
  for (const char* name :
       {"gradient_size", "call_overhead", "bandwidth", "best_bucket_size", "best_bucket_exposed"}) {
    if (found && found->name == name) note_ceilings();
  }
  return found;
}

std::string Reader::pass(const yaml::Node& node) {
  if (node.is_scalar() && (known_.open || node.text.empty())) return node.text;
  return choice(node, "pass", known_.passes);
}

template <class Value>
std::optional<Value> Reader::accepted(const yaml::Node& node, std::string_view what,
                                      Result<Value> result) {
  if (result) return std::move(*result);
  const Diagnostic& problem = result.error().diagnostics.front();
  complain(node, fmt::format("{}: {}", what, problem.message), problem.hint);
  return std::nullopt;
}

Template Reader::text_template(const yaml::Node& node, std::string_view what) {
  std::string source = text(node, what);
  if (!source.empty() && source.back() == '\n') source.pop_back();
  Template result = accepted(node, what, Template::parse(source)).value_or(Template());
  result.where = node.where;
  return result;
}

std::optional<Expression> Reader::expression(const yaml::Node& node, std::string_view what) {
  return accepted(node, what, Expression::compile(text(node, what)));
}

Format Reader::format(const yaml::Node& node) {
  const std::string name = text(node, "format");
  auto result = parse_format(name);
  if (result) return std::move(*result);
  const Diagnostic& problem = result.error().diagnostics.front();
  complain(node, problem.message,
           name.find('{') == std::string::npos ? known_names(name, format_names()) : problem.hint);
  return {};
}

CellTexts Reader::cells(const yaml::Node& node) {
  CellTexts result = text_map(node, "cells");
  for (const auto& [key, value] : node.entries) choice(key, "cell kind", cell_text_keys());
  return result;
}

std::vector<Outcome> Reader::outcomes(const yaml::Node& node) {
  std::vector<Outcome> result;
  for (const std::string& name : texts(node, "outcome")) {
    if (const auto outcome = outcome_from_text(name)) {
      result.push_back(*outcome);
    } else {
      complain_unknown(node.where, "outcome", name, outcome_names());
    }
  }
  return result;
}

std::string Reader::unit(const yaml::Node& node) {
  std::string name = text(node, "unit");
  if (!known_.has_unit(name)) complain_unknown(node.where, "unit", name, store::known_units());
  return name;
}

}  // namespace assay::report
