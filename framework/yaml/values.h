#pragma once

#include <assay/value.h>

#include <nlohmann/json.hpp>

#include "yaml/document.h"

namespace assay::yaml {

// What a scalar means by YAML's core schema: true/false, decimal, 0x and 0o integers, reals, else
// text. A quoted scalar is always text; anything but a scalar gives monostate. An integer that
// does not fit 64 bits is a real.
Value to_value(const Node& node);

// The same document as JSON: null, booleans, numbers, text, arrays and objects. Infinities and
// NaN, which JSON lacks, stay text.
nlohmann::json to_json(const Node& node);

}  // namespace assay::yaml
