#include "config/vocabulary.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/renamed_variants.h"
#include "base/text.h"
#include "config/host_parameters.h"

namespace assay::config {
namespace {

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool takes_part(const catalogue::PluginInfo& plugin, const catalogue::PluginInfo& workload) {
  return plugin.workloads.empty() || contains(plugin.workloads, workload.name);
}

}  // namespace

std::string_view default_variant(std::string_view kind) {
  constexpr std::pair<std::string_view, std::string_view> defaults[] = {{"attention", "naive"},
                                                                        {"norm", "rmsnorm"},
                                                                        {"precision", "fp32"},
                                                                        {"compile", "eager"},
                                                                        {"communication", "none"}};
  for (const auto& [known, variant] : defaults) {
    if (known == kind) return variant;
  }
  return {};
}

const ParameterInfo* find_option(const catalogue::PluginInfo& plugin, std::string_view name) {
  const auto found = std::find_if(plugin.parameters.begin(), plugin.parameters.end(),
                                  [&](const ParameterInfo& option) { return option.name == name; });
  return found == plugin.parameters.end() ? nullptr : &*found;
}

Vocabulary::Meaning Vocabulary::find(std::string_view name) const {
  if (const ParameterInfo* info = find_option(workload_, name)) {
    return {Meaning::Sort::parameter, info};
  }
  if (const ParameterInfo* info = find_host_parameter(name)) {
    return {Meaning::Sort::parameter, info};
  }
  if (uses(name)) return {Meaning::Sort::kind, nullptr, std::string(name)};
  const std::size_t dot = name.find('.');
  if (dot == std::string_view::npos || !uses(name.substr(0, dot))) return {};
  const std::string_view kind = name.substr(0, dot);
  const std::string_view option = name.substr(dot + 1);
  for (const catalogue::PluginInfo* plugin : variants(kind)) {
    if (find_option(*plugin, option)) {
      return {Meaning::Sort::option, nullptr, std::string(kind), std::string(option)};
    }
  }
  return {};
}

bool Vocabulary::uses(std::string_view kind) const { return contains(workload_.uses, kind); }

std::vector<const catalogue::PluginInfo*> Vocabulary::variants(std::string_view kind) const {
  std::vector<const catalogue::PluginInfo*> plugins = catalogue_.of_kind(kind);
  std::erase_if(plugins, [&](const auto* plugin) { return !takes_part(*plugin, workload_); });
  return plugins;
}

const catalogue::PluginInfo* Vocabulary::variant(std::string_view kind,
                                                 std::string_view name) const {
  const catalogue::PluginInfo* plugin = catalogue_.find(kind, name);
  return plugin && takes_part(*plugin, workload_) ? plugin : nullptr;
}

std::vector<std::string> Vocabulary::names(bool with_options) const {
  std::vector<std::string> names;
  for (const ParameterInfo& info : workload_.parameters) names.push_back(info.name);
  names.insert(names.end(), workload_.uses.begin(), workload_.uses.end());
  if (with_options) {
    std::set<std::string> options;
    for (const std::string& kind : workload_.uses) {
      for (const catalogue::PluginInfo* plugin : variants(kind)) {
        for (const ParameterInfo& option : plugin->parameters) {
          options.insert(kind + "." + option.name);
        }
      }
    }
    names.insert(names.end(), options.begin(), options.end());
  }
  for (const ParameterInfo& info : host_parameters()) names.push_back(info.name);
  return names;
}

std::string Vocabulary::objection(std::string_view name) const {
  const std::string_view kind = name.substr(0, name.find('.'));
  if (kind == "workload") return "the workload is the same in all cases: name it at the top";
  if (name == "pass" || name == "passes") {
    return "passes are not an axis: name them in measure, passes: [...]";
  }
  if (catalogue::is_kind(kind) && !uses(kind)) {
    return fmt::format("the workload '{}' does not use {}; it uses {}", workload_.name, kind,
                       workload_.uses.empty() ? "no other kind" : join(workload_.uses, ", "));
  }
  if (kind.size() < name.size() && uses(kind)) {
    std::vector<std::string> options;
    for (const std::string& known : names(true)) {
      if (known.starts_with(std::string(kind) + ".")) options.push_back(known);
    }
    return fmt::format("no {} variant has an option '{}'{}", kind, name.substr(kind.size() + 1),
                       suggestion(name, options));
  }
  return fmt::format("unknown name '{}'{}", name, suggestion(name, names(false)));
}

std::string Vocabulary::objection(std::string_view kind, std::string_view variant) const {
  if (catalogue_.find(kind, variant)) {
    return fmt::format("{} '{}' cannot take part in the workload '{}'", kind, variant,
                       workload_.name);
  }
  std::vector<std::string> known;
  for (const catalogue::PluginInfo* plugin : variants(kind)) known.push_back(plugin->name);
  return fmt::format("unknown {} '{}'{}", kind, variant, variant_suggestion(kind, variant, known));
}

}  // namespace assay::config
