#pragma once

#include <string>
#include <string_view>

namespace assay::worker {

// Whether a loaded library refers to a function of others by this name.
bool imports(const std::string& file, std::string_view function);

}  // namespace assay::worker
