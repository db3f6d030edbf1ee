#pragma once

// worker/process loads plugins, joins the ranks, and guards the process against plugins. It depends
// on measure and wire. Start here.

#include <assay/plugin.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/shared_library.h"
#include "catalogue/catalogue.h"
#include "catalogue/compiled.h"
#include "worker/process/own_code.h"

namespace assay::worker {

// The plugin libraries of this process. They are never unloaded: what a library registers with
// LibTorch must stay valid until the process ends.
class PluginLoader {
 public:
  // Loads the file once and checks its entry point, SDK version and build fingerprint. The error
  // names the file and both values.
  Result<const PluginLibrary*> load(const std::filesystem::path& file);

  // The registration of this kind and name in the loaded libraries. Several may hold it, built with
  // other values of its compiled options: the one whose values are those of `options`, the one that
  // load() was asked for last if several are. Error: none holds it, or none with these values.
  Result<const PluginEntry*> find(std::string_view kind, std::string_view name,
                                  const Options& options = {});

  // What a registration of find() says of itself, which is asked once.
  const PluginDescription& description(const PluginEntry& entry) const;

  // Which of these libraries somebody has written to since it was loaded: "norm.so"; "" for none.
  std::string written_to(const std::vector<std::string>& files) const;

 private:
  struct Described {
    PluginDescription description;
    catalogue::CompiledValues built_with;
  };
  struct Loaded {
    std::filesystem::path file;
    const PluginLibrary* library;
    OwnCode code;
    std::map<const PluginEntry*, Described> described = {};  // once asked for
  };
  static Result<const catalogue::CompiledValues*> built_with(Loaded& loaded,
                                                             const PluginEntry& entry);

  std::vector<Loaded> loaded_;
};

// The catalogue's entry for each registration of a library.
Result<std::vector<catalogue::PluginInfo>> describe(const PluginLibrary& library,
                                                    const std::filesystem::path& file);

// Every plugin library below `folder` (<kind>/<name>.so), sorted.
std::vector<std::filesystem::path> plugin_files(const std::filesystem::path& folder);

}  // namespace assay::worker
