#pragma once

// run/plugins compiles plugins from one source file, lists all plugins and checks one by its
// conformance suite. It depends on run/workers. Start here.

#include <filesystem>
#include <string>

#include "run/process/installation.h"

namespace assay::run {

// .cpp, .cc, .cxx or .cu.
bool is_plugin_source(const std::filesystem::path& file);

// Builds the library of a source with the compiler and flags of this assay, or takes it from the
// cache while the source, its headers and the flags are unchanged. The compiler's messages go to
// stderr. Errors: the compiler fails or is missing, this assay was built without LibTorch.
Result<std::filesystem::path> build_plugin(const Installation& installation,
                                           const std::filesystem::path& source);

// The compilers that built this assay; plugins need the same.
struct PluginCompilers {
  std::string cpp;   // path
  std::string cuda;  // path of nvcc; empty: the build had none
};
Result<PluginCompilers> plugin_compilers(const Installation& installation);

}  // namespace assay::run
