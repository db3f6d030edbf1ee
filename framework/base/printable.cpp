#include "base/printable.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"

namespace assay {
namespace {

constexpr std::string_view replacement = "\xef\xbf\xbd";  // U+FFFD
constexpr std::size_t longest_quoted = 500;               // bytes
constexpr std::size_t shown_of_quoted = 100;
constexpr std::size_t longest_line = 8000;
constexpr std::size_t shown_of_line = 4000;

// `sequence`: one character in UTF-8.
bool is_unsafe(std::string_view sequence) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(sequence[i]); };
  if (sequence.size() == 1) {
    return (byte(0) < 0x20 && sequence != "\n" && sequence != "\t") || byte(0) == 0x7f;
  }
  if (sequence.size() == 2) {
    const bool c1 = byte(0) == 0xc2 && byte(1) < 0xa0;  // U+0080 to U+009F
    return c1 || sequence == "\xd8\x9c";                // U+061C
  }
  if (sequence.size() != 3 || byte(0) != 0xe2) return false;
  const bool marks_and_overrides =  // U+200E, U+200F, U+2028 to U+202E
      byte(1) == 0x80 &&
      (byte(2) == 0x8e || byte(2) == 0x8f || (byte(2) >= 0xa8 && byte(2) <= 0xae));
  const bool isolates = byte(1) == 0x81 && byte(2) >= 0xa6 && byte(2) <= 0xa9;  // U+2066 to U+2069
  return marks_and_overrides || isolates;
}

// Bytes of a sequence of assay's own at the front: "\r", "\033[K", "\033[1;31m"; 0 if there is
// none.
std::size_t own_control(std::string_view text) {
  if (text[0] == '\r') return 1;
  if (!text.starts_with("\033[")) return 0;
  const std::size_t end = text.find_first_not_of("0123456789;", 2);
  if (end == std::string_view::npos) return 0;
  return text[end] == 'm' || text.substr(2, end - 1) == "K" ? end + 1 : 0;
}

std::string printed(std::string_view text, bool keeps_own) {
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    std::size_t bytes = keeps_own ? own_control(text) : 0;
    const bool own = bytes > 0;
    if (!own) bytes = utf8_sequence(text);
    const bool valid = bytes > 0;
    bytes = std::max<std::size_t>(bytes, 1);
    const std::string_view sequence = text.substr(0, bytes);
    shown += own || (valid && !is_unsafe(sequence)) ? sequence : replacement;
    text.remove_prefix(bytes);
  }
  return shown;
}

// The beginning, up to the end of a character.
std::string_view beginning(std::string_view text, std::size_t bytes) {
  while (bytes > 0 && bytes < text.size() &&
         (static_cast<unsigned char>(text[bytes]) & 0xC0) == 0x80) {
    --bytes;
  }
  return text.substr(0, bytes);
}

std::string cut(std::string_view text, std::size_t bytes) {
  return fmt::format("{}… ({} bytes)", beginning(text, bytes), text.size());
}

std::string with_short_quotes(std::string_view line) {
  std::string text;
  while (!line.empty()) {
    const std::size_t open = std::min(line.find('\''), line.size());
    text += line.substr(0, open);
    line.remove_prefix(open);
    if (line.empty()) break;
    const std::size_t close = line.find('\'', 1);
    if (close == std::string_view::npos || close <= longest_quoted) {
      text += line[0];
      line.remove_prefix(1);
      continue;
    }
    text += "'" + cut(line.substr(1, close - 1), shown_of_quoted) + "'";
    line.remove_prefix(close + 1);
  }
  return text;
}

}  // namespace

std::string printable(std::string_view text) { return printed(text, false); }

std::string printable_line(std::string_view text) {
  std::string line(text);
  std::ranges::replace_if(
      line, [](char c) { return c == '\n' || c == '\r' || c == '\t'; }, ' ');
  return printable(line);
}

std::string printable_on_terminal(std::string_view text) { return printed(text, true); }

std::string shortened(std::string_view text) {
  if (text.size() <= longest_quoted) return std::string(text);
  std::string whole;
  while (true) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string line = with_short_quotes(text.substr(0, end));
    whole += line.size() > longest_line ? cut(line, shown_of_line) : line;
    if (end == text.size()) return whole;
    whole += '\n';
    text.remove_prefix(end + 1);
  }
}

}  // namespace assay
