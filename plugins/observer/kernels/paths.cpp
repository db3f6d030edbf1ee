#include "paths.h"

#include <algorithm>
#include <cctype>

namespace assay::kernels {

namespace {

constexpr std::size_t longest_part = 1000;  // a part has at most 1024 bytes

}  // namespace

int Paths::child(int parent, const std::string& name) {
  const auto [at, added] = children_.try_emplace({parent, name}, static_cast<int>(nodes_.size()));
  if (added) nodes_.push_back({parent, name});
  return at->second;
}

std::vector<std::string> Paths::names(int path) const {
  std::vector<std::string> names;
  for (int at = path; at != none; at = nodes_[static_cast<std::size_t>(at)].parent) {
    names.push_back(nodes_[static_cast<std::size_t>(at)].name);
  }
  std::ranges::reverse(names);
  return names;
}

std::string Paths::text(int path) const {
  std::string text;
  for (const std::string& name : names(path)) text += (text.empty() ? "" : ";") + name;
  return text;
}

int Paths::below(int base, int path) {
  const std::vector<std::string> added = names(path);
  for (std::size_t i = 1; i < added.size(); ++i) base = child(base, added[i]);
  return base;
}

std::string without_number(const std::string& range) {
  const std::size_t space = range.rfind(' ');
  if (space == std::string::npos || space + 1 == range.size()) return range;
  const bool number = std::all_of(range.begin() + static_cast<std::ptrdiff_t>(space) + 1,
                                  range.end(), [](unsigned char c) { return std::isdigit(c); });
  return number ? range.substr(0, space) : range;
}

std::string part_of(std::string text) {
  std::ranges::replace_if(
      text, [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
  if (text.size() <= longest_part) return text;
  std::size_t end = longest_part;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end) + "…";
}

}  // namespace assay::kernels
