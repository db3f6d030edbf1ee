#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace assay {

// Neither of these throws: what cannot be written, because a terminal was closed or a disk is full,
// is dropped. A run does not end because nobody reads of it.

// To standard output, where what a command was asked for goes; through the C library's buffer.
void write_out(std::string_view text);
// To standard error, at once: messages to a person.
void write_error(std::string_view text);

template <typename... Values>
void print_out(fmt::format_string<Values...> text, Values&&... values) {
  write_out(fmt::format(text, std::forward<Values>(values)...));
}

template <typename... Values>
void print_error(fmt::format_string<Values...> text, Values&&... values) {
  write_error(fmt::format(text, std::forward<Values>(values)...));
}

// Why not all that was printed to standard output has reached it, what is still in the buffer
// included: "No space left on device". Nothing where all has, or where its stream was closed from
// the start (open_standard_streams).
std::optional<std::string> why_not_all_written_out();

// Whether the stream takes text now. A terminal that was stopped (Ctrl-S) does not, and who writes
// to it all the same waits until it runs again.
bool output_stream_is_ready();
bool error_stream_is_ready();

// Of the standard streams those that were closed are opened on /dev/null, so that no other file
// gets their numbers.
void open_standard_streams();

}  // namespace assay
