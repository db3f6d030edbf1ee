#include "cli/show/terminal.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

#include "base/text.h"
#include "base/utf8.h"

namespace assay::cli {

Colours Colours::of_stream(int descriptor) {
  const char* none = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  const bool dumb = terminal == nullptr || std::string_view(terminal) == "dumb";
  return Colours(::isatty(descriptor) != 0 && (none == nullptr || *none == '\0') && !dumb);
}

std::string Colours::outcome(std::string_view word) const {
  if (word == "ok") return good(word);
  return word == "skipped" || word == "unsupported" ? doubtful(word) : bad(word);
}

std::string Colours::in(std::string_view code, std::string_view text) const {
  return on_ ? fmt::format("\033[{}m{}\033[0m", code, text) : std::string(text);
}

std::string plain_markdown(std::string_view markdown, const Colours& colours) {
  std::string text;
  while (!markdown.empty()) {
    const std::size_t end = markdown.starts_with("**") ? markdown.find("**", 2) : std::string::npos;
    if (end != std::string::npos) {
      text += colours.bold(plain_markdown(markdown.substr(2, end - 2), Colours(false)));
      markdown.remove_prefix(end + 2);
      continue;
    }
    if (markdown[0] == '[') {  // [text](target)
      const std::size_t middle = markdown.find("](");
      const std::size_t close = markdown.find(')', middle);
      if (middle != std::string::npos && close != std::string::npos) {
        text += plain_markdown(markdown.substr(1, middle - 1), colours);
        markdown.remove_prefix(close + 1);
        continue;
      }
    }
    if (markdown[0] == '\\' && markdown.size() > 1) markdown.remove_prefix(1);
    if (markdown.starts_with("&lt;") || markdown.starts_with("&gt;")) {
      text += markdown[1] == 'l' ? '<' : '>';
      markdown.remove_prefix(4);
      continue;
    }
    text += markdown[0];
    markdown.remove_prefix(1);
  }
  return text;
}

std::string first_columns(std::string_view utf8, std::size_t columns) {
  if (display_width(utf8) <= columns) return std::string(utf8);
  std::string text;
  std::size_t taken = 0;
  while (taken < columns && !utf8.empty()) {
    const std::size_t bytes = std::max<std::size_t>(utf8_sequence(utf8), 1);
    text += utf8.substr(0, bytes);
    utf8.remove_prefix(bytes);
    ++taken;
  }
  return text;
}

}  // namespace assay::cli
