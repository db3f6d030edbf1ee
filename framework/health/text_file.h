#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay::health {

// The beginning of a file of /proc or /sys, which have no size: up to `most` bytes; nothing where
// it cannot be read. Children that are started meanwhile do not inherit it.
std::optional<std::string> read_text(const std::string& path, std::size_t most = 1 << 20);

// Its first whole number.
std::optional<long long> read_number(const std::string& path);

// Words between blanks and line ends.
std::vector<std::string_view> words(std::string_view text);

std::optional<long long> number(std::string_view text);
// With a fraction.
std::optional<double> real(std::string_view text);

}  // namespace assay::health
