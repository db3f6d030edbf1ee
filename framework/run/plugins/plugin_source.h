#pragma once

// run/plugins compiles plugins from one source file, lists those there are, and checks one by its
// conformance suite. It depends on run/workers. Start here.

#include <filesystem>
#include <string>

#include "run/workers/installation.h"

namespace assay::run {

// Plugins that are a single source file: .cpp, .cc, .cxx or .cu.
bool is_plugin_source(const std::filesystem::path& file);

// The library made from such a source, with the compiler and flags this assay was built with. It is
// kept in the cache and taken from there while the source, the headers beside it and the flags are
// the same. The compiler's messages go to stderr as they are; an error when it fails, when it is
// missing, or when this assay was built without LibTorch.
Result<std::filesystem::path> build_plugin(const Installation& installation,
                                           const std::filesystem::path& source);

// The compilers that plugins are built with are those that built this assay.
struct PluginCompilers {
  std::string cpp;   // path
  std::string cuda;  // path of nvcc; empty: the build had none
};
Result<PluginCompilers> plugin_compilers(const Installation& installation);

}  // namespace assay::run
