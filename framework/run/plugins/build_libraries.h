#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "run/plugins/plugin_build.h"

namespace assay::run {

struct LibraryToBuild {
  PluginSources sources;
  std::string title;  // for the line that tells of it
};

struct BuiltLibrary {
  std::filesystem::path file;  // empty where it was not built
  std::string lacking;         // what this machine lacks to build it, such as a compiler
  std::string messages;        // of compiler and linker
  bool built_now = false;      // it was not in the cache
};

struct BuildListener {
  std::function<bool()> stop = {};  // asked now and then; true ends the compilers
  // A library that is not in the cache: before the first of its sources is compiled.
  std::function<void(const std::string& title)> begins = {};
};

// Builds each library from its sources, or takes it from the cache while the sources, their headers
// and the flags are unchanged. An unchanged source of a library is not compiled again. As many
// compilers as this process may use cores work beside each other. A library whose building was
// stopped has neither file nor messages.
std::vector<BuiltLibrary> build_libraries(const PluginBuild& build,
                                          const std::vector<LibraryToBuild>& wanted,
                                          const BuildListener& listener = {});

}  // namespace assay::run
