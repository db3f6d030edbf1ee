#include "report/document/inert.h"

#include <algorithm>
#include <cctype>

#include "base/printable.h"

namespace assay::report {
namespace {

bool is_punctuation(char c) { return std::ispunct(static_cast<unsigned char>(c)) != 0; }
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n'; }

// <https://…>: a link that shows where it leads.
bool is_autolink(std::string_view text) {
  if (!text.starts_with("<https://") && !text.starts_with("<http://")) return false;
  const std::size_t end = text.find_first_of(" \t\n<>\"'", 1);
  return end != std::string_view::npos && text[end] == '>';
}

// text: begins with '<'.
bool begins_html(std::string_view text) {
  if (text.size() < 2 || is_autolink(text)) return false;
  const auto next = static_cast<unsigned char>(text[1]);
  return std::isalpha(next) != 0 || next == '/' || next == '!' || next == '?';
}

// Escapes what is not code, line by line. An open run of backticks may be closed on a later line of
// its paragraph, so from there on nothing counts as code.
class Escaping {
 public:
  std::string of(std::string_view text) {
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      add_line(text.substr(0, end), text);
      if (end == text.size()) break;
      result_ += '\n';
      text.remove_prefix(end + 1);
    }
    return std::move(result_);
  }

 private:
  void add_line(std::string_view line, std::string_view rest) {
    if (is_in_fence(line)) {
      result_ += line;
      return;
    }
    if (line.find_first_not_of(" \t") == std::string_view::npos) open_ = false;
    std::size_t at = 0;
    while (at < line.size()) at += add(line, at, rest.substr(at));
  }

  // Fences at the beginning of a line alone: one in a list ends with the list.
  bool is_in_fence(std::string_view line) {
    const std::size_t ticks = std::min(line.find_first_not_of('`'), line.size());
    if (fence_ == 0) {
      const bool opens = ticks >= 3 && line.find('`', ticks) == std::string_view::npos;
      if (opens) fence_ = ticks;
      return opens;
    }
    const bool closes =
        ticks >= fence_ && line.find_first_not_of(" \t", ticks) == std::string_view::npos;
    if (closes) fence_ = 0;
    return true;
  }

  // Returns how many bytes of the line it has taken.
  std::size_t add(std::string_view line, std::size_t at, std::string_view rest) {
    const std::string_view here = line.substr(at);
    if (here[0] == '\\' && here.size() > 1 && is_punctuation(here[1])) return take(here, 2);
    if (here[0] == '`') return add_code(here);
    const bool image = here.starts_with("![");
    const bool target = here.starts_with("](") || here.starts_with("]:");
    if (image || (target && !is_harmless_target(rest.substr(2)))) {
      result_ += here[0];
      result_ += '\\';
      result_ += here[1];
      return 2;
    }
    if (here[0] == '<' && begins_html(rest)) result_ += '\\';
    return take(here, 1);
  }

  std::size_t add_code(std::string_view here) {
    const std::size_t ticks = std::min(here.find_first_not_of('`'), here.size());
    if (open_) return take(here, ticks);
    for (std::size_t close = ticks; close < here.size();) {
      close = here.find('`', close);
      if (close == std::string_view::npos) break;
      const std::size_t end = std::min(here.find_first_not_of('`', close), here.size());
      if (end - close == ticks) return take(here, end);
      close = end;
    }
    open_ = true;
    return take(here, ticks);
  }

  std::size_t take(std::string_view here, std::size_t bytes) {
    result_ += here.substr(0, bytes);
    return bytes;
  }

  std::string result_;
  std::size_t fence_ = 0;  // backticks of the open fence; 0: none is open
  bool open_ = false;
};

}  // namespace

bool is_harmless_target(std::string_view text) {
  while (!text.empty() && (is_blank(text[0]) || text[0] == '<')) text.remove_prefix(1);
  const std::string_view target = text.substr(0, text.find_first_of(" \t\n)>"));
  if (target.starts_with("https://") || target.starts_with("http://")) return true;
  // A scheme ends with a colon, which may be written as an entity or behind a backslash.
  return target.find_first_of(":&\\") == std::string_view::npos;
}

std::string inert(std::string_view markdown) { return Escaping().of(markdown); }

std::string inert_line(std::string_view markdown) { return inert(printable_line(markdown)); }

}  // namespace assay::report
