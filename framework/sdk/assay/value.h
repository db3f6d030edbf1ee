#pragma once

#include <cstdint>
#include <string>
#include <variant>

namespace assay {

// What a parameter, an option or an axis holds. monostate: not applicable.
using Value = std::variant<std::monostate, bool, std::int64_t, double, std::string>;

// How a value stands in a table, a file name or a message: true/false, shortest round-trip
// decimals, text as it is, and "" for monostate.
std::string to_text(const Value& value);

}  // namespace assay
