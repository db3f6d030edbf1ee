#pragma once

#include <string>
#include <string_view>

namespace assay::cli {

// Colours for a terminal; none where the stream is no terminal, NO_COLOR is set or TERM is dumb.
class Colours {
 public:
  explicit Colours(bool on) : on_(on) {}
  // Of this descriptor: 1 standard output, 2 standard error.
  static Colours of_stream(int descriptor);

  bool on() const { return on_; }
  std::string bold(std::string_view text) const { return in("1", text); }
  std::string good(std::string_view text) const { return in("32", text); }
  std::string bad(std::string_view text) const { return in("31", text); }
  std::string doubtful(std::string_view text) const { return in("33", text); }
  // Good for ok, doubtful for skipped and unsupported, bad for the others.
  std::string outcome(std::string_view word) const;

 private:
  std::string in(std::string_view code, std::string_view text) const;

  bool on_;
};

// Markdown as a terminal shows it: **bold** by colour, escapes and links without their signs.
std::string plain_markdown(std::string_view markdown, const Colours& colours);

// The beginning of a text that takes at most this many columns.
std::string first_columns(std::string_view utf8, std::size_t columns);

}  // namespace assay::cli
