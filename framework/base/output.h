#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/printable.h"

namespace assay {

// Neither function throws: a closed terminal or a full disk loses the text, and the run goes on.

// A command's result, to standard output through the C library's buffer.
void write_out(std::string_view text);
// A message to a person, to standard error without a buffer.
void write_error(std::string_view text);

// The same for text in which imported names, titles or reasons may stand: they control no terminal.
template <typename... Values>
void print_out(fmt::format_string<Values...> text, Values&&... values) {
  write_out(printable_on_terminal(fmt::format(text, std::forward<Values>(values)...)));
}

template <typename... Values>
void print_error(fmt::format_string<Values...> text, Values&&... values) {
  write_error(printable_on_terminal(fmt::format(text, std::forward<Values>(values)...)));
}

// Flushes standard output. Returns why some of the printed text was lost ("No space left on
// device"); nullopt if none was, or if the stream was closed from the start.
std::optional<std::string> why_not_all_written_out();

// Whether the stream takes text now. A write to a stopped terminal (Ctrl-S) blocks.
bool output_stream_is_ready();
bool error_stream_is_ready();

// Opens each closed standard stream on /dev/null, so that no other file gets its number.
void open_standard_streams();

}  // namespace assay
