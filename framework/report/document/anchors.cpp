#include "report/document/anchors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <set>

#include "base/text.h"

namespace assay::report {
namespace {

// The code point that begins at `at`, which moves behind it.
std::uint32_t next_code_point(std::string_view text, std::size_t& at) {
  const auto first = static_cast<unsigned char>(text[at++]);
  const int more = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : first >= 0xC0 ? 1 : 0;
  std::uint32_t point = more == 0 ? first : first & (0x3Fu >> more);
  for (int i = 0; i < more && at < text.size(); ++i) {
    point = point << 6 | (static_cast<unsigned char>(text[at++]) & 0x3Fu);
  }
  return point;
}

// Punctuation and symbols: ASCII's and Latin-1's, dashes and quotes, arrows, operators.
bool is_dropped(std::uint32_t point) {
  if (point < 0x80) return true;  // what is kept of ASCII has been asked before
  if (point <= 0xBF) return point != 0xAA && point != 0xB5 && point != 0xBA;
  if (point == 0xD7 || point == 0xF7) return true;
  return (point >= 0x2000 && point <= 0x206F) || (point >= 0x20A0 && point <= 0x20CF) ||
         (point >= 0x2190 && point <= 0x2BFF) || (point >= 0x3000 && point <= 0x303F);
}

std::string anchor_name(std::string_view heading) {
  std::string name;
  for (std::size_t at = 0; at < heading.size();) {
    const std::size_t begin = at;
    const std::uint32_t point = next_code_point(heading, at);
    const bool digit = point >= '0' && point <= '9';
    const bool lower = point >= 'a' && point <= 'z';
    if (point >= 'A' && point <= 'Z') {
      name += static_cast<char>(point - 'A' + 'a');
    } else if (digit || lower || point == '-' || point == '_') {
      name += static_cast<char>(point);
    } else if (point == ' ') {
      name += '-';
    } else if (!is_dropped(point)) {
      name += heading.substr(begin, at - begin);
    }
  }
  return name;
}

std::size_t length_of_fence(std::string_view line) {
  const std::size_t length = std::min(line.find_first_not_of('`'), line.size());
  return length >= 3 ? length : 0;
}

// 0: the line is no heading.
int level_of(std::string_view line) {
  const std::size_t level = std::min(line.find_first_not_of('#'), line.size());
  const bool heading = level >= 1 && level <= 6 && level < line.size() && line[level] == ' ';
  return heading ? static_cast<int>(level) : 0;
}

std::string link_text(const std::string& heading) {
  std::string text;
  for (const char c : heading) {
    if (c == '[' || c == ']') text += '\\';
    text += c;
  }
  return text;
}

}  // namespace

std::vector<Anchor> anchors_of(std::string_view markdown) {
  std::vector<Anchor> anchors;
  std::set<std::string> taken;
  std::size_t fence = 0;
  for (const std::string& line : split(markdown, '\n')) {
    const std::size_t length = length_of_fence(line);
    if (fence > 0) {
      if (length >= fence && trim(line).size() == length) fence = 0;
      continue;
    }
    fence = length;
    const int level = level_of(line);
    if (level == 0) continue;
    const std::string text(trim(std::string_view(line).substr(static_cast<std::size_t>(level))));
    const std::string name = anchor_name(text);
    std::string unique = name;
    for (int number = 1; !taken.insert(unique).second; ++number) {
      unique = fmt::format("{}-{}", name, number);
    }
    anchors.push_back({level, text, std::move(unique)});
  }
  return anchors;
}

std::string contents_of(const std::vector<Anchor>& anchors, int deepest, std::string_view except) {
  std::string text;
  for (const Anchor& anchor : anchors) {
    if (anchor.level < 2 || anchor.level > deepest || anchor.text == except) continue;
    const std::string indent(static_cast<std::size_t>(2 * (anchor.level - 2)), ' ');
    text += fmt::format("{}- [{}](#{})\n", indent, link_text(anchor.text), anchor.name);
  }
  return text;
}

}  // namespace assay::report
