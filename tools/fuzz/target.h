#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/error.h"

// What every target has: it is called with one input after another, and stops the process where
// something that must hold does not.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace assay::fuzz {

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// Stops the process, saying what did not hold.
void require(bool holds, const char* what);

// A refusal is for the person reading: at least one message, none empty, an exit code of its own.
void require_explained(const Error& error);

}  // namespace assay::fuzz
