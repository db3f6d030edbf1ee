#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/error.h"

// Every target's entry: takes one input and stops the process where a requirement fails.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace assay::fuzz {

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// Stops the process with this message unless `holds`.
void require(bool holds, const char* what);

// Requires an exit code other than ok, at least one message, and no empty message.
void require_explained(const Error& error);

}  // namespace assay::fuzz
