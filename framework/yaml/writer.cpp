#include "yaml/writer.h"

#include <nlohmann/json.hpp>
#include <string_view>

#include "base/text.h"

namespace assay::yaml {
namespace {

bool is_plain(std::string_view text) {
  constexpr std::string_view letters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.";
  if (text.empty() || text.back() == ' ') return false;
  const bool begins = letters.find(text[0]) != std::string_view::npos ||
                      ((text[0] == '+' || text[0] == '-') && text.size() > 1 &&
                       letters.find(text[1]) != std::string_view::npos);
  return begins &&
         text.find_first_not_of(std::string(letters) + "+-/%<>=()^* ") == std::string_view::npos;
}

// A plain scalar of odd characters is text, whether it is quoted or not. JSON's quotes are YAML's.
std::string scalar(const Node& node) {
  if (!node.quoted && is_plain(node.text)) return node.text;
  return nlohmann::json(node.text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

std::string to_flow(const Node& node) {
  std::vector<std::string> parts;
  switch (node.kind) {
    case Node::Kind::null:
      return "null";
    case Node::Kind::scalar:
      return scalar(node);
    case Node::Kind::sequence:
      for (const Node& item : node.items) parts.push_back(to_flow(item));
      return "[" + join(parts, ", ") + "]";
    case Node::Kind::mapping:
      for (const auto& [key, value] : node.entries) {
        parts.push_back(scalar(key) + ": " + to_flow(value));
      }
      return "{" + join(parts, ", ") + "}";
  }
  return "null";
}

std::string to_yaml(const Node& node) {
  if (!node.is_mapping() || node.entries.empty()) return to_flow(node) + "\n";
  std::string text;
  for (const auto& [key, value] : node.entries) {
    text += scalar(key) + ":";
    const bool sections =
        value.is_sequence() && !value.items.empty() && value.items.front().is_mapping();
    if (sections) {
      text += "\n";
      for (const Node& item : value.items) text += "  - " + to_flow(item) + "\n";
    } else {
      text += " " + to_flow(value) + "\n";
    }
  }
  return text;
}

}  // namespace assay::yaml
