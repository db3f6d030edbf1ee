#pragma once

#include <string_view>

namespace assay::catalogue {

// Whether a variant, workload or observer may have this name: one rule for libraries, descriptors
// and `assay new`.
bool is_plugin_name(std::string_view name);

inline constexpr const char* plugin_name_rule =
    "a name has letters, digits, '_' and '-', and begins with a letter";

}  // namespace assay::catalogue
