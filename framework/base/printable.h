#pragma once

#include <cstddef>
#include <string>
#include <string_view>

// Text of unknown origin, made fit to be shown to a person.
namespace assay {

// Replaces by U+FFFD what is not UTF-8, control characters but line breaks and tabs, and the
// characters that turn the direction of text around (U+202E and its kin).
std::string printable(std::string_view text);

// As printable, on one line: line breaks and tabs become blanks.
std::string printable_line(std::string_view text);

// As printable, but keeps what assay itself sends a terminal: colours, a line's erasing, its start.
std::string printable_on_terminal(std::string_view text);

// Cuts each quoted value and each line that nobody would read to its end: "'xxxx… (100000 bytes)'".
std::string shortened(std::string_view text);

}  // namespace assay
