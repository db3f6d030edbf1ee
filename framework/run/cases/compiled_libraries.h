#pragma once

#include <assay/outcome.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "catalogue/compiled.h"
#include "config/experiment.h"

namespace assay::run {

struct Surroundings;

// A library that cases of a plan ask for and that is not the plugin's own file.
struct CompiledNeed {
  const catalogue::PluginInfo* plugin;
  catalogue::CompiledValues values;
};

struct CompiledLibrary {
  std::string file;                    // empty where it is not built
  Outcome outcome = Outcome::skipped;  // of its cases then: skipped, unsupported or error
  std::string reason = {};
  std::vector<std::string> sources = {};  // where it is not built: they decide whether it will be
};

// What became of each need.
class CompiledLibraries {
 public:
  void add(const CompiledNeed& need, CompiledLibrary library);
  const CompiledLibrary* find(const catalogue::PluginInfo& plugin,
                              const catalogue::CompiledValues& values) const;

 private:
  std::map<std::pair<std::string, catalogue::CompiledValues>, CompiledLibrary> libraries_;
};

// The case's values of the plugin's compiled options. `value`: of a name of the case.
template <class ValueOf>
catalogue::CompiledValues compiled_values(const catalogue::PluginInfo& plugin, ValueOf&& value) {
  catalogue::CompiledValues values = catalogue::built_with(plugin.parameters);
  for (auto& [name, held] : values) {
    const Value asked = value(plugin.kind == "workload" ? name : plugin.kind + "." + name);
    if (asked.index() != 0) held = asked;
  }
  return values;
}

// Each library once, for cases that this machine does not skip anyway.
std::vector<CompiledNeed> compiled_needs(const Surroundings& surroundings,
                                         const config::Plan& plan);

}  // namespace assay::run
