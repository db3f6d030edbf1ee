#pragma once

#include <assay/value.h>

#include <nlohmann/json.hpp>

#include "yaml/document.h"

namespace assay::yaml {

// A scalar by YAML's core schema: a boolean, a decimal, 0x or 0o integer, a real, else text. A
// quoted scalar is text, an integer beyond 64 bits a real; any other node gives monostate.
Value to_value(const Node& node);

// Infinities and NaN, which JSON lacks, stay text.
nlohmann::json to_json(const Node& node);

}  // namespace assay::yaml
