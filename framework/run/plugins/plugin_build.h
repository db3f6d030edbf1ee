#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "run/process/installation.h"

namespace assay::run {

using Words = std::vector<std::string>;

// How this assay's plugins are compiled, as CMake recorded it (cmake/AssayInstall.cmake).
struct PluginBuild {
  std::string text;  // of the file: part of the keys of all that is cached
  std::string fingerprint, compiler, cuda_compiler;
  Words flags, cuda_flags, definitions, includes, system_includes, link;
  std::string precompiled_header, worker;
  std::string cmake, generator, make_program, package;  // package: the folder of assayConfig.cmake
};

// Error: this assay was built without LibTorch, or its installation is incomplete.
Result<PluginBuild> read_plugin_build(const Installation& installation);

// What a library is built from. Paths are absolute.
struct PluginSources {
  std::string name;             // of the library's file, without .so
  std::filesystem::path given;  // the file or folder that messages name
  std::vector<std::filesystem::path> sources;
  std::vector<std::filesystem::path> includes;
  std::filesystem::path root = {};  // where #include "…" looks last; may be empty
  Words options;                    // of both compilers
  Words cuda_options;               // of nvcc
  Words definitions;                // "NAME=value"
  Words link;

  // The sources with the headers beside them, in `includes` and in `root`, sorted.
  std::vector<std::filesystem::path> files() const;
};

// .cpp, .cc, .cxx or .cu.
bool is_plugin_source(const std::filesystem::path& file);

PluginSources sources_of_file(const std::filesystem::path& file);

// All sources in the folder and below, except in hidden folders and build folders of CMake. Error:
// there are none.
Result<PluginSources> sources_of_folder(const std::filesystem::path& folder);

// The sources of a library from the description beside it, NAME.build.json. assay_add_plugin and
// this assay write one for every library they build. Error: there is none, or the sources are gone.
Result<PluginSources> sources_of_library(const std::filesystem::path& library);
Result<void> describe_sources(const std::filesystem::path& library, const PluginSources& sources);

Words compile_command(const PluginBuild& build, const PluginSources& sources,
                      const std::filesystem::path& source, const std::filesystem::path& object,
                      const std::filesystem::path& dependencies);
Words link_command(const PluginBuild& build, const PluginSources& sources,
                   const std::vector<std::filesystem::path>& objects,
                   const std::filesystem::path& library);

}  // namespace assay::run
