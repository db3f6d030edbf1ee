#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace assay::run {

// RFC 4648, with padding. from_base64() refuses other characters.
std::string to_base64(std::string_view bytes);
std::optional<std::string> from_base64(std::string_view text);

}  // namespace assay::run
