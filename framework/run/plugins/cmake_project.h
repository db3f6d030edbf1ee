#pragma once

#include <filesystem>
#include <vector>

#include "run/plugins/plugin_build.h"

namespace assay::run {

// Configures and builds a folder with a CMakeLists.txt in the user's cache, against this assay, and
// returns the libraries that assay_add_plugin made there. CMake decides what is out of date.
// Errors: CMake is missing or fails (its messages go to stderr), or the project makes no plugin.
Result<std::vector<std::filesystem::path>> build_project(const PluginBuild& build,
                                                         const std::filesystem::path& folder);

}  // namespace assay::run
