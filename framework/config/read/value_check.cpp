#include "config/read/value_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/json.h"
#include "base/text.h"
#include "catalogue/compiled.h"
#include "config/host_parameters.h"
#include "yaml/values.h"

namespace assay::config {
namespace {

std::string bound_text(const ParameterInfo& info, double bound) {
  if (info.type == ParameterType::size) return human_size(bound);
  if (info.type == ParameterType::duration) return fmt::format("{} s", bound);
  return std::abs(bound) < 1e15 && bound == std::floor(bound) ? fmt::format("{:.0f}", bound)
                                                              : fmt::format("{}", bound);
}

std::string bounds_text(const ParameterInfo& info) {
  std::string text;
  if (info.minimum && info.maximum) {
    text = fmt::format(" from {} to {}", bound_text(info, *info.minimum),
                       bound_text(info, *info.maximum));
  } else if (info.minimum) {
    text = fmt::format(" of at least {}", bound_text(info, *info.minimum));
  } else if (info.maximum) {
    text = fmt::format(" of at most {}", bound_text(info, *info.maximum));
  }
  if (info.unit == share_unit) return text + ", or a percentage such as 5 %";
  const bool carries_unit =
      info.type == ParameterType::size || info.type == ParameterType::duration;
  return info.unit.empty() || carries_unit ? text : fmt::format("{} ({})", text, info.unit);
}

std::string comma(const std::string& more) { return more.empty() ? more : "," + more; }

using Checked = tl::expected<Value, Diagnostic>;

tl::unexpected<Diagnostic> wrong(std::string message, std::string hint) {
  return tl::unexpected<Diagnostic>(Diagnostic{{}, std::move(message), std::move(hint)});
}

tl::unexpected<Diagnostic> wrong_type(const yaml::Node& node, const ParameterInfo& info) {
  return wrong(fmt::format("'{}' does not fit", node.text), "accepted: " + accepted(info));
}

Checked within_bounds(Value value, double number, const yaml::Node& node,
                      const ParameterInfo& info) {
  const auto* integer = std::get_if<std::int64_t>(&value);
  if (integer != nullptr && !info.values.empty() &&
      std::find(info.values.begin(), info.values.end(), *integer) == info.values.end()) {
    return wrong(fmt::format("{} is not among its values", node.text),
                 "accepted: " + accepted(info));
  }
  if ((info.minimum && number < *info.minimum) || (info.maximum && number > *info.maximum)) {
    return wrong(fmt::format("{} is out of bounds", node.text), "accepted: " + accepted(info));
  }
  return value;
}

// "5 %" or "5%" as 0.05.
std::optional<double> percentage(const std::string& text) {
  if (text.empty() || text.back() != '%') return std::nullopt;
  std::string_view digits(text.data(), text.size() - 1);
  while (digits.ends_with(' ')) digits.remove_suffix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size() || !std::isfinite(value)) {
    return std::nullopt;
  }
  return value / 100;
}

Checked check_number(const yaml::Node& node, const ParameterInfo& info) {
  if (info.unit == share_unit) {
    if (const auto share = percentage(node.text)) return within_bounds(*share, *share, node, info);
  }
  const Value value = yaml::to_value(node);
  const auto* integer = std::get_if<std::int64_t>(&value);
  const auto* real = std::get_if<double>(&value);
  if (!integer && !(real && std::isfinite(*real))) return wrong_type(node, info);
  const double number = integer ? static_cast<double>(*integer) : *real;
  if (info.type == ParameterType::real) return within_bounds(number, number, node, info);
  if (integer) return within_bounds(*integer, number, node, info);
  // 1e3 is a whole number too.
  constexpr double exact = 9007199254740992.0;  // 2^53
  if (number != std::floor(number) || std::abs(number) > exact) return wrong_type(node, info);
  return within_bounds(static_cast<std::int64_t>(number), number, node, info);
}

template <class Number>
Checked check_quantity(const Result<Number>& quantity, const yaml::Node& node,
                       const ParameterInfo& info) {
  if (!quantity) {
    return wrong(quantity.error().diagnostics[0].message, quantity.error().diagnostics[0].hint);
  }
  return within_bounds(*quantity, static_cast<double>(*quantity), node, info);
}

Checked check_choice(const yaml::Node& node, const ParameterInfo& info) {
  if (std::find(info.choices.begin(), info.choices.end(), node.text) != info.choices.end()) {
    return node.text;
  }
  return wrong(fmt::format("unknown value '{}'{}", node.text, suggestion(node.text, info.choices)),
               {});
}

Checked check_scalar(const yaml::Node& node, const ParameterInfo& info) {
  switch (info.type) {
    case ParameterType::boolean: {
      const Value value = yaml::to_value(node);
      if (std::holds_alternative<bool>(value)) return value;
      return wrong_type(node, info);
    }
    case ParameterType::integer:
    case ParameterType::real:
      return check_number(node, info);
    case ParameterType::size:
      return check_quantity(parse_size(node.text), node, info);
    case ParameterType::duration:
      return check_quantity(parse_duration(node.text), node, info);
    case ParameterType::choice:
      return check_choice(node, info);
    case ParameterType::text:
    case ParameterType::config:
      break;
  }
  const bool may_be_empty = info.default_value == Value(std::string());
  if (node.text.empty() && !may_be_empty) {
    return wrong("the value is empty", "accepted: " + accepted(info));
  }
  return node.text;
}

}  // namespace

std::string accepted(const ParameterInfo& info) {
  switch (info.type) {
    case ParameterType::boolean:
      return "true or false";
    case ParameterType::integer:
      if (!info.values.empty()) return "one of " + catalogue::allowed_in_words(info);
      return "an integer" + bounds_text(info);
    case ParameterType::real:
      return "a number" + bounds_text(info);
    case ParameterType::text:
      return "text";
    case ParameterType::choice:
      return "one of " + join(info.choices, ", ");
    case ParameterType::size:
      return "a size with its unit, such as 100 MiB" + comma(bounds_text(info));
    case ParameterType::duration:
      return "a duration with its unit, such as 30 s" + comma(bounds_text(info));
    case ParameterType::config:
      break;
  }
  return fmt::format("the name of a file in configs/{}, or the path of a .yaml file",
                     info.config_folder);
}

std::optional<Value> ValueChecker::check(const std::string& name, const yaml::Node& node,
                                         const ParameterInfo& info) {
  if (!node.is_scalar()) {
    const std::string_view found = node.is_null()       ? "nothing"
                                   : node.is_sequence() ? "a list"
                                                        : "a mapping";
    diagnostics_.add(node.where, fmt::format("{}: {} where one value is expected", name, found),
                     "accepted: " + accepted(info));
    return std::nullopt;
  }
  auto checked = check_scalar(node, info);
  if (!checked) {
    diagnostics_.add(node.where, fmt::format("{}: {}", name, checked.error().message),
                     checked.error().hint);
    return std::nullopt;
  }
  // An empty name, where it is the default, is no config.
  if (info.type == ParameterType::config && !node.text.empty() &&
      !read_config(name, node.text, info, node.where)) {
    return std::nullopt;
  }
  return std::move(*checked);
}

void ValueChecker::check_default(const std::string& name, const ParameterInfo& info,
                                 const SourceLocation& where) {
  if (info.type != ParameterType::config) return;
  const auto* value = std::get_if<std::string>(&info.default_value);
  if (value != nullptr && !value->empty()) {
    read_config(name, *value, info, where);
  }
}

nlohmann::json ValueChecker::check_fields(const yaml::Node& config, const ParameterInfo& info) {
  nlohmann::json checked = yaml::to_json(config);
  if (info.fields.empty()) return checked;
  std::vector<std::string> names;
  for (const ParameterInfo& field : info.fields) names.push_back(field.name);
  for (const auto& [key, value] : config.entries) {
    const auto field = std::find(names.begin(), names.end(), key.text);
    if (field == names.end()) {
      diagnostics_.add(key.where,
                       fmt::format("unknown field '{}'{}", key.text, suggestion(key.text, names)));
    } else if (const auto fits = check(key.text, value, info.fields[field - names.begin()])) {
      checked[key.text] = to_json(*fits);
    }
  }
  for (const ParameterInfo& field : info.fields) {
    const bool optional = !std::holds_alternative<std::monostate>(field.default_value);
    if (!optional && config.find(field.name) == nullptr) {
      diagnostics_.add(config.where, fmt::format("the field '{}' is missing", field.name),
                       "it takes " + accepted(field));
    }
  }
  return checked;
}

bool ValueChecker::read_config(const std::string& name, const std::string& value,
                               const ParameterInfo& info, const SourceLocation& where) {
  const std::string key = name + "/" + value;
  if (configs_.count(key) > 0) return true;
  const auto known = known_.find(key);
  if (known != known_.end() && known->second.is_object()) {
    configs_.emplace(key, known->second);
    return true;
  }
  if (wrong_configs_.count(key) > 0) return false;
  const auto contents = presets_.read(info.config_folder, value);
  if (contents) {
    const std::size_t before = diagnostics_.size();
    nlohmann::json fields = check_fields(*contents, info);
    if (diagnostics_.size() > before) {
      wrong_configs_.insert(key);
      return false;
    }
    configs_.emplace(key, std::move(fields));
    return true;
  }
  for (const Diagnostic& diagnostic : contents.error().diagnostics) {
    const bool elsewhere = diagnostic.where.line > 0;
    diagnostics_.add(elsewhere ? diagnostic.where : where,
                     fmt::format("{}: {}", name, diagnostic.message), diagnostic.hint);
  }
  return false;
}

}  // namespace assay::config
