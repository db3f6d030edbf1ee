#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace assay {

// The candidate nearest to `word` by edit distance; nullopt if all are too far for a misspelling.
std::optional<std::string> nearest(std::string_view word,
                                   const std::vector<std::string>& candidates);

// "; did you mean 'x'? known: a, b, c".
std::string suggestion(std::string_view word, const std::vector<std::string>& candidates);

std::string join(const std::vector<std::string>& parts, std::string_view separator);
std::vector<std::string> split(std::string_view text, char separator);
std::string_view trim(std::string_view text);

// In columns of a terminal, one per code point.
std::size_t display_width(std::string_view utf8);

// "100 MiB" → 104857600, "1 GB" → 1e9; refuses a bare number.
Result<std::int64_t> parse_size(std::string_view text);
// "30 s", "5 min", "200 ms" → seconds.
Result<double> parse_duration(std::string_view text);
// 3221225472 → "3.00 GiB".
std::string human_size(double bytes);
template <std::integral Bytes>
std::string human_size(Bytes bytes) {
  return human_size(static_cast<double>(bytes));
}
// 93.4 → "1 min 33 s".
std::string human_duration(double seconds);
// "1 pass", "3 passes".
std::string counted(std::size_t count, std::string_view one, std::string_view several);

std::string sha256_hex(std::string_view bytes);
// Refuses a file of more than `limit_bytes`, and a pipe that nobody writes.
Result<std::string> read_file(const std::string& path, std::size_t limit_bytes = SIZE_MAX);
// Atomic: writes a file beside `path` and renames it.
Result<void> write_file(const std::string& path, std::string_view content);
// Now, UTC, "2026-01-31T12:34:56Z".
std::string timestamp_utc();

}  // namespace assay
