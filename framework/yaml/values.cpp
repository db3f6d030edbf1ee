#include "yaml/values.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>

namespace assay::yaml {
namespace {

std::optional<bool> boolean(std::string_view text) {
  if (text == "true" || text == "True" || text == "TRUE") return true;
  if (text == "false" || text == "False" || text == "FALSE") return false;
  return std::nullopt;
}

template <class Number, class... Base>
std::optional<Number> whole(std::string_view text, Base... base) {
  Number number{};
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, base...);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<std::int64_t> integer(std::string_view text) {
  if (text.starts_with("0x")) return whole<std::int64_t>(text.substr(2), 16);
  if (text.starts_with("0o")) return whole<std::int64_t>(text.substr(2), 8);
  if (text.starts_with('+')) text.remove_prefix(1);
  return whole<std::int64_t>(text);
}

std::optional<double> special_real(std::string_view text) {
  if (text == ".nan" || text == ".NaN" || text == ".NAN") {
    return std::numeric_limits<double>::quiet_NaN();
  }
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text != ".inf" && text != ".Inf" && text != ".INF") return std::nullopt;
  const double infinity = std::numeric_limits<double>::infinity();
  return negative ? -infinity : infinity;
}

std::optional<double> real(std::string_view text) {
  if (const auto special = special_real(text)) return special;
  // from_chars also takes "inf" and "nan", which are text in YAML.
  if (text.find_first_not_of("+-.0123456789eE") != std::string_view::npos) return std::nullopt;
  if (text.starts_with('+')) text.remove_prefix(1);
  return whole<double>(text);
}

}  // namespace

Value to_value(const Node& node) {
  if (!node.is_scalar()) return {};
  if (node.quoted) return node.text;
  if (const auto truth = boolean(node.text)) return *truth;
  if (const auto number = integer(node.text)) return *number;
  if (const auto number = real(node.text)) return *number;
  return node.text;
}

nlohmann::json to_json(const Node& node) {
  switch (node.kind) {
    case Node::Kind::null:
      return nullptr;
    case Node::Kind::sequence: {
      nlohmann::json items = nlohmann::json::array();
      for (const Node& item : node.items) items.push_back(to_json(item));
      return items;
    }
    case Node::Kind::mapping: {
      nlohmann::json entries = nlohmann::json::object();
      for (const auto& [key, value] : node.entries) entries[key.text] = to_json(value);
      return entries;
    }
    case Node::Kind::scalar:
      break;
  }
  const Value value = to_value(node);
  if (const auto* truth = std::get_if<bool>(&value)) return *truth;
  if (const auto* number = std::get_if<std::int64_t>(&value)) return *number;
  const auto* number = std::get_if<double>(&value);
  if (number && std::isfinite(*number)) return *number;
  return node.text;
}

}  // namespace assay::yaml
