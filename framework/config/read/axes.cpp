#include "config/read/axes.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <tuple>

#include "base/text.h"
#include "config/host_parameters.h"
#include "config/read/zip.h"

namespace assay::config {
namespace {

std::string in_words(const Choice& choice) {
  std::string text = to_text(choice.value);
  for (const auto& [name, value] : choice.options) {
    text += fmt::format(", {} {}", name.substr(name.find('.') + 1), to_text(value));
  }
  return text;
}

// Of a tied axis the steps are compared, all tied values together (zip.h).
bool is_tied(const Request& request, const std::string& axis) {
  return std::ranges::any_of(request.zip, [&](const yaml::Node& entry) {
    return std::ranges::count(entry.items, axis, &yaml::Node::text) > 0;
  });
}

void refuse_duplicates(const std::string& axis, const std::vector<Choice>& choices,
                       const std::vector<SourceLocation>& places, Diagnostics& diagnostics) {
  std::vector<std::size_t> order(choices.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::tie(choices[a].value, choices[a].options) <
           std::tie(choices[b].value, choices[b].options);
  });
  for (std::size_t i = 1; i < order.size(); ++i) {
    const Choice& choice = choices[order[i]];
    if (choice != choices[order[i - 1]]) continue;
    diagnostics.add(places[order[i]],
                    fmt::format("the axis '{}' has the value '{}' twice", axis, in_words(choice)));
  }
}

}  // namespace

AxisReader::AxisReader(const Vocabulary& vocabulary, const Request& request, ValueChecker& checker,
                       Diagnostics& diagnostics)
    : vocabulary_(vocabulary),
      request_(request),
      checker_(checker),
      diagnostics_(diagnostics),
      variants_(vocabulary, request, checker, diagnostics) {}

void AxisReader::read(Experiment& experiment) {
  check_names();
  read_kinds(experiment);
  for (const Setting& setting : request_.matrix) read_axis(setting, experiment);
  for (const Setting& setting : request_.fixed) read_fixed(setting, experiment);
  add_defaults(experiment);
  name_left_out(experiment);
  tie_axes(request_, experiment.matrix, diagnostics_);
}

void AxisReader::check_names() {
  std::map<std::string, const Setting*> seen;
  for (const auto* section : {&request_.matrix, &request_.fixed}) {
    for (const Setting& setting : *section) {
      const auto [first, added] = seen.try_emplace(setting.name, &setting);
      if (added) continue;
      diagnostics_.add(
          setting.where, fmt::format("'{}' is given twice", setting.name),
          fmt::format("also at line {}, column {}; a name is an axis or fixed, not both",
                      first->second->where.line, first->second->where.column));
    }
  }
}

void AxisReader::read_kinds(Experiment& experiment) {
  for (const std::string& kind : vocabulary_.workload().uses) {
    if (const Setting* axis = find_setting(request_.matrix, kind)) {
      chosen_[kind] = axis_choices(*axis, vocabulary_.find(kind));
      continue;
    }
    const Setting* fixed = find_setting(request_.fixed, kind);
    std::vector<Choice>& choices = chosen_[kind];
    choices = fixed ? variants_.read(kind, fixed->value) : implied_choice(kind);
    if (choices.size() > 1) {
      diagnostics_.add(fixed->value.where, fmt::format("{} is fixed to several values", kind),
                       "move it to matrix to vary it");
    }
    if (choices.empty()) continue;
    experiment.fixed[kind] = choices[0].value;
    for (const auto& [name, value] : choices[0].options) {
      if (!find_setting(request_.matrix, name)) experiment.fixed[name] = value;
    }
  }
}

std::vector<Choice> AxisReader::implied_choice(const std::string& kind) {
  yaml::Node implied;
  implied.kind = yaml::Node::Kind::scalar;
  implied.text = default_variant(kind);
  implied.where = request_.workload->where;
  if (vocabulary_.variant(kind, implied.text)) return variants_.read(kind, implied);
  std::vector<std::string> known;
  for (const auto* plugin : vocabulary_.variants(kind)) known.push_back(plugin->name);
  diagnostics_.add(implied.where,
                   fmt::format("the workload '{}' uses {}, which is not named, and its default "
                               "'{}' is not installed",
                               vocabulary_.workload().name, kind, implied.text),
                   "name one of " + join(known, ", "));
  return {};
}

void AxisReader::read_axis(const Setting& setting, Experiment& experiment) {
  const Meaning meaning = vocabulary_.find(setting.name);
  if (meaning.sort == Meaning::Sort::unknown) {
    diagnostics_.add(setting.where, vocabulary_.objection(setting.name));
    return;
  }
  experiment.pinned.insert(setting.name);
  const bool kind = meaning.sort == Meaning::Sort::kind;
  if (meaning.sort == Meaning::Sort::option && !has_owner(setting, meaning)) return;
  const std::vector<Choice> choices = kind ? chosen_[setting.name] : axis_choices(setting, meaning);
  if (choices.empty()) return;
  Axis axis{{setting.name}, {}};
  for (const Choice& choice : choices) {
    axis.rows.push_back({choice});
  }
  experiment.matrix.push_back(std::move(axis));
}

std::vector<Choice> AxisReader::axis_choices(const Setting& setting, const Meaning& meaning) {
  const bool list = setting.value.is_sequence();
  if (list && setting.value.items.empty()) {
    diagnostics_.add(setting.value.where, fmt::format("the axis '{}' has no values", setting.name));
    return {};
  }
  std::vector<Choice> choices;
  std::vector<SourceLocation> places;  // of each choice
  for (const yaml::Node& item : setting.value.one_or_more()) {
    if (meaning.sort == Meaning::Sort::kind) {
      const std::vector<Choice> read = variants_.read(setting.name, item);
      choices.insert(choices.end(), read.begin(), read.end());
    } else if (auto value = meaning.info ? checker_.check(setting.name, item, *meaning.info)
                                         : check_option(setting.name, item, meaning)) {
      choices.push_back({std::move(*value), {}});
    }
    places.resize(choices.size(), item.where);
  }
  if (!is_tied(request_, setting.name)) {
    refuse_duplicates(setting.name, choices, places, diagnostics_);
  }
  return choices;
}

std::vector<const catalogue::PluginInfo*> AxisReader::owners(const Meaning& option) const {
  std::vector<const catalogue::PluginInfo*> owners;
  for (const Choice& choice : chosen_.at(option.kind)) {
    const auto* plugin = vocabulary_.variant(option.kind, std::get<std::string>(choice.value));
    const bool known = std::find(owners.begin(), owners.end(), plugin) != owners.end();
    if (!known && find_option(*plugin, option.option)) owners.push_back(plugin);
  }
  return owners;
}

bool AxisReader::has_owner(const Setting& setting, const Meaning& option) {
  if (!owners(option).empty()) return true;
  const std::vector<Choice>& choices = chosen_.at(option.kind);
  const Setting* axis = find_setting(request_.matrix, option.kind);
  const Setting* kind = axis ? axis : find_setting(request_.fixed, option.kind);
  // --set may have removed the variants with the file's option.
  const bool excused = kind && kind->overridden && !setting.overridden;
  if (choices.empty() || excused) return false;
  std::vector<std::string> names;
  names.reserve(choices.size());
  for (const Choice& choice : choices) names.push_back(to_text(choice.value));
  diagnostics_.add(setting.where,
                   fmt::format("'{}' applies to no {} of this experiment ({})", setting.name,
                               option.kind, join(names, ", ")),
                   fmt::format("add a variant that has the option '{}'", option.option));
  return false;
}

std::optional<Value> AxisReader::check_option(const std::string& name, const yaml::Node& node,
                                              const Meaning& option) {
  std::optional<Value> value;
  for (const catalogue::PluginInfo* plugin : owners(option)) {
    value = checker_.check(name, node, *find_option(*plugin, option.option));
    if (!value) return std::nullopt;
  }
  return value;
}

std::optional<Value> AxisReader::check(const std::string& name, const yaml::Node& node) {
  const Meaning meaning = vocabulary_.find(name);
  if (meaning.info) return checker_.check(name, node, *meaning.info);
  if (meaning.sort == Meaning::Sort::kind) {
    if (node.is_scalar() && vocabulary_.variant(name, node.text)) return node.text;
    diagnostics_.add(node.where, node.is_scalar()
                                     ? vocabulary_.objection(name, node.text)
                                     : fmt::format("{}: not the name of a variant", name));
    return std::nullopt;
  }
  for (const catalogue::PluginInfo* plugin : vocabulary_.variants(meaning.kind)) {
    if (const ParameterInfo* info = find_option(*plugin, meaning.option)) {
      return checker_.check(name, node, *info);
    }
  }
  return std::nullopt;
}

void AxisReader::read_fixed(const Setting& setting, Experiment& experiment) {
  const Meaning meaning = vocabulary_.find(setting.name);
  if (meaning.sort == Meaning::Sort::unknown) {
    diagnostics_.add(setting.where, vocabulary_.objection(setting.name));
    return;
  }
  if (!setting.measuring) experiment.pinned.insert(setting.name);
  if (meaning.sort == Meaning::Sort::option) has_owner(setting, meaning);
  if (!meaning.info) return;  // kinds and their options are read with the variants
  if (setting.value.is_sequence()) {
    diagnostics_.add(setting.value.where, fmt::format("'{}' is fixed to a list", setting.name),
                     fmt::format("write it in matrix to vary it, as {}: [...]", setting.name));
    return;
  }
  if (auto value = checker_.check(setting.name, setting.value, *meaning.info)) {
    experiment.fixed[setting.name] = std::move(*value);
  }
}

void AxisReader::add_defaults(Experiment& experiment) {
  const auto is_given = [&](const std::string& name) {
    return find_setting(request_.matrix, name) || find_setting(request_.fixed, name);
  };
  const SourceLocation& where = request_.workload->where;
  for (const ParameterInfo& info : vocabulary_.workload().parameters) {
    if (is_given(info.name)) continue;
    if (std::holds_alternative<std::monostate>(info.default_value)) {
      diagnostics_.add(
          where,
          fmt::format("the workload '{}' needs '{}'", vocabulary_.workload().name, info.name),
          fmt::format("give it in matrix or fixed; accepted: {}", accepted(info)));
      continue;
    }
    checker_.check_default(info.name, info, where);
    if (!info.left_out_at_default) experiment.fixed[info.name] = info.default_value;
  }
  for (const ParameterInfo& info : host_parameters()) {
    const bool has_default =
        !info.left_out_at_default && !std::holds_alternative<std::monostate>(info.default_value);
    if (has_default && !is_given(info.name)) experiment.fixed[info.name] = info.default_value;
  }
  experiment.fixed["workload"] = vocabulary_.workload().name;
}

void AxisReader::name_left_out(Experiment& experiment) const {
  for (const auto* parameters : {&vocabulary_.workload().parameters, &host_parameters()}) {
    for (const ParameterInfo& info : *parameters) {
      if (info.left_out_at_default) {
        experiment.left_out.push_back({info.name, "", {{"", info.default_value}}});
      }
    }
  }
  for (const std::string& kind : vocabulary_.workload().uses) {
    std::map<std::string, LeftOut> options;
    for (const auto* plugin : vocabulary_.variants(kind)) {
      for (const ParameterInfo& info : plugin->parameters) {
        if (!info.left_out_at_default) continue;
        LeftOut& option = options[info.name];
        option.name = kind + "." + info.name;
        option.kind = kind;
        option.defaults[plugin->name] = info.default_value;
      }
    }
    for (auto& [name, option] : options) experiment.left_out.push_back(std::move(option));
  }
}

}  // namespace assay::config
