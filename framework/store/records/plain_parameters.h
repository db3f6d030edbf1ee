#pragma once

#include <optional>
#include <string_view>

#include "store/records/parameters.h"

namespace assay::store {

// As parameters_from_json(), in half the time: makes no tree of the JSON. nullopt where the text is
// anything but an object of truth values, numbers, texts and nulls.
std::optional<Parameters> plain_parameters(std::string_view json);

}  // namespace assay::store
