#pragma once

// run/plugins compiles plugins from their sources, lists all plugins and checks one by its
// conformance suite. It depends on run/workers and run/cases. Start here.

#include <filesystem>
#include <string>
#include <vector>

#include "run/plugins/plugin_build.h"
#include "run/process/installation.h"

namespace assay::run {

// Builds the libraries of what --plugin names: a source, a folder of sources, or a folder with a
// CMakeLists.txt of its own. A library is taken from the cache while the sources, their headers and
// this assay's flags are unchanged. The compiler's messages go to stderr. Errors: the compiler
// fails or is missing, the folder holds no plugin, this assay was built without LibTorch.
Result<std::vector<std::filesystem::path>> build_plugin(const Installation& installation,
                                                        const std::filesystem::path& given);

// The compilers that built this assay; plugins need the same.
struct PluginCompilers {
  std::string cpp;   // path
  std::string cuda;  // path of nvcc; empty: the build had none
};
Result<PluginCompilers> plugin_compilers(const Installation& installation);

}  // namespace assay::run
