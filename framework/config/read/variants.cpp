#include "config/read/variants.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"

namespace assay::config {

VariantReader::VariantReader(const Vocabulary& vocabulary, const Request& request,
                             ValueChecker& checker, Diagnostics& diagnostics)
    : vocabulary_(vocabulary), request_(request), checker_(checker), diagnostics_(diagnostics) {}

std::vector<Choice> VariantReader::read(const std::string& kind, const yaml::Node& value,
                                        const std::vector<std::string>& more_axes) {
  more_axes_ = more_axes;
  std::vector<Choice> choices;
  for (const yaml::Node& item : value.one_or_more()) read_one(kind, item, choices);
  return choices;
}

void VariantReader::read_one(const std::string& kind, const yaml::Node& node,
                             std::vector<Choice>& choices) {
  const bool with_options = node.is_mapping() && node.entries.size() == 1;
  if (!node.is_scalar() && !with_options) {
    diagnostics_.add(node.where, fmt::format("{}: not the name of a variant", kind),
                     "write a name, or {name: {option: value}}");
    return;
  }
  const yaml::Node& name = with_options ? node.entries[0].first : node;
  const yaml::Node* given = with_options ? &node.entries[0].second : nullptr;
  const catalogue::PluginInfo* plugin = vocabulary_.variant(kind, name.text);
  if (!plugin) {
    diagnostics_.add(name.where, vocabulary_.objection(kind, name.text));
    return;
  }
  if (given && given->is_null()) given = nullptr;
  if (given && !given->is_mapping()) {
    diagnostics_.add(given->where, fmt::format("{}: options are a mapping", kind),
                     "write {name: {option: value}}");
    return;
  }
  if (given) check_given(kind, *plugin, *given);
  Values options;
  for (const ParameterInfo& info : plugin->parameters) {
    const std::string full_name = kind + "." + info.name;
    options.emplace_back(full_name, option_values(full_name, info, *plugin, name,
                                                  given ? given->find(info.name) : nullptr));
  }
  add_product(plugin->name, options, node, choices);
}

void VariantReader::check_given(const std::string& kind, const Plugin& plugin,
                                const yaml::Node& given) {
  std::vector<std::string> known;
  for (const ParameterInfo& info : plugin.parameters) known.push_back(info.name);
  for (const auto& [key, value] : given.entries) {
    const std::string full_name = kind + "." + key.text;
    if (!find_option(plugin, key.text)) {
      const std::string hint = known.empty() ? "; it has none" : suggestion(key.text, known);
      diagnostics_.add(key.where, fmt::format("{} '{}' has no option '{}'{}", kind, plugin.name,
                                              key.text, hint));
      continue;
    }
    for (const auto* section : {&request_.matrix, &request_.fixed}) {
      const Setting* elsewhere = find_setting(*section, full_name);
      if (elsewhere && !elsewhere->overridden) {
        diagnostics_.add(key.where, fmt::format("'{}' is given twice", full_name),
                         fmt::format("also at line {}, column {}", elsewhere->where.line,
                                     elsewhere->where.column));
      }
    }
  }
}

bool VariantReader::is_axis(const std::string& name) const {
  return find_setting(request_.matrix, name) ||
         std::find(more_axes_.begin(), more_axes_.end(), name) != more_axes_.end();
}

std::vector<Value> VariantReader::option_values(const std::string& name, const ParameterInfo& info,
                                                const Plugin& plugin, const yaml::Node& where,
                                                const yaml::Node* given) {
  if (is_axis(name)) return {info.default_value};
  const Setting* fixed = find_setting(request_.fixed, name);
  if (fixed) given = &fixed->value;
  if (!given) {
    if (std::holds_alternative<std::monostate>(info.default_value)) {
      diagnostics_.add(where.where,
                       fmt::format("'{}' needs its option '{}'", plugin.name, info.name),
                       "accepted: " + accepted(info));
    }
    checker_.check_default(name, info, where.where);
    return {info.default_value};
  }
  std::vector<Value> values;
  const bool list = given->is_sequence() && !fixed;
  if (list && given->items.empty()) {
    diagnostics_.add(given->where, fmt::format("'{}' has no values", name));
  }
  const std::span<const yaml::Node> one(given, 1);
  for (const yaml::Node& item : list ? given->one_or_more() : one) {
    if (auto value = checker_.check(name, item, info)) values.push_back(std::move(*value));
  }
  return values;
}

void VariantReader::add_product(const std::string& variant, const Values& options,
                                const yaml::Node& node, std::vector<Choice>& choices) {
  std::size_t count = 1;
  for (const auto& [name, values] : options) {
    if (values.empty()) return;  // already reported
    const std::size_t room = request_.case_limit - std::min(request_.case_limit, choices.size());
    if (values.size() > room / count) {
      diagnostics_.add(node.where,
                       fmt::format("the options of '{}' give more than {} combinations", variant,
                                   request_.case_limit),
                       "shorten the lists, or raise limits: {cases: ...}");
      return;
    }
    count *= values.size();
  }
  for (std::size_t i = 0; i < count; ++i) {
    Choice choice{variant, {}};
    std::size_t rest = count;
    for (const auto& [name, values] : options) {
      rest /= values.size();
      choice.options.emplace_back(name, values[i / rest % values.size()]);
    }
    choices.push_back(std::move(choice));
  }
}

}  // namespace assay::config
