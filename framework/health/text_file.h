#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay::health {

// The first `most` bytes of a file without a size, as in /proc and /sys; nullopt where it cannot be
// read. Children started meanwhile do not inherit the descriptor.
std::optional<std::string> read_text(const std::string& path, std::size_t most = 1 << 20);

std::optional<long long> read_number(const std::string& path);

std::vector<std::string_view> words(std::string_view text);

std::optional<long long> number(std::string_view text);
std::optional<double> real(std::string_view text);

}  // namespace assay::health
