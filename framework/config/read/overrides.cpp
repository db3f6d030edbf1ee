#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "config/experiment.h"
#include "config/read/request.h"

namespace assay::config {
namespace {

bool holds_list(const yaml::Node& node) {
  if (node.is_sequence()) return true;
  return std::any_of(node.entries.begin(), node.entries.end(),
                     [](const auto& entry) { return holds_list(entry.second); });
}

Setting* find_mutable(std::vector<Setting>& settings, std::string_view name) {
  const Setting* found = find_setting(settings, name);
  return found ? &settings[static_cast<std::size_t>(found - settings.data())] : nullptr;
}

void replace(Setting setting, Request& request) {
  if (Setting* axis = find_mutable(request.matrix, setting.name)) {
    *axis = std::move(setting);
    return;
  }
  Setting* fixed = find_mutable(request.fixed, setting.name);
  if (holds_list(setting.value)) {
    std::erase_if(request.fixed, [&](const Setting& old) { return old.name == setting.name; });
    request.matrix.push_back(std::move(setting));
  } else if (fixed) {
    *fixed = std::move(setting);
  } else {
    request.fixed.push_back(std::move(setting));
  }
}

// `where`: of the name.
void apply(const std::string& name, const yaml::Node& value, const SourceLocation& where,
           Request& request, Diagnostics& diagnostics) {
  if (value.is_null()) {
    diagnostics.add(where, fmt::format("{} is set to nothing", name), "write name=value");
  } else if (name == "limits.cases") {
    read_case_limit(diagnostics, value, request);
  } else if (name == "measure.passes") {
    request.passes = value;
  } else if (std::ranges::count(yaml::names_of(request_keys()), name) > 0) {
    diagnostics.add(where, fmt::format("'{}' cannot be set here", name),
                    "--set takes axes, parameters, measure.* and limits.cases");
  } else {
    replace({name, value, where, true, false}, request);
  }
}

void apply_setting(const std::string& text, const std::string& origin, Request& request,
                   Diagnostics& diagnostics) {
  const std::size_t equals = text.find('=');
  const std::string name = name_of_setting(text);
  if (equals == std::string::npos || name.empty()) {
    diagnostics.add({origin}, fmt::format("'{}' is not name=value", text),
                    "such as seq_len=[128, 256]");
    return;
  }
  // Blanks in place of the name keep the columns of the value.
  const auto value = yaml::parse(std::string(equals + 1, ' ') + text.substr(equals + 1), origin);
  if (!value) return diagnostics.add(value.error());
  apply(name, *value, {origin, 1, 1}, request, diagnostics);
}

}  // namespace

std::string name_of_setting(std::string_view setting) {
  return std::string(trim(setting.substr(0, setting.find('='))));
}

void apply_settings(const std::vector<std::string>& settings, Request& request,
                    Diagnostics& diagnostics) {
  for (std::size_t i = 0; i < settings.size(); ++i) {
    apply_setting(settings[i], fmt::format("--set {}", i + 1), request, diagnostics);
  }
}

void apply_changes(const Changes& changes, Request& request, Diagnostics& diagnostics) {
  for (const auto& [name, value] : changes.settings) {
    apply(name.text, value, name.where, request, diagnostics);
  }
}

}  // namespace assay::config
