#include "run/cases/compiled_libraries.h"

#include <set>

#include "run/cases/resolve.h"

namespace assay::run {

void CompiledLibraries::add(const CompiledNeed& need, CompiledLibrary library) {
  libraries_[{need.plugin->file, need.values}] = std::move(library);
}

const CompiledLibrary* CompiledLibraries::find(const catalogue::PluginInfo& plugin,
                                               const catalogue::CompiledValues& values) const {
  const auto found = libraries_.find({plugin.file, values});
  return found == libraries_.end() ? nullptr : &found->second;
}

std::vector<CompiledNeed> compiled_needs(const Surroundings& surroundings,
                                         const config::Plan& plan) {
  std::vector<CompiledNeed> needs;
  std::set<std::pair<std::string, catalogue::CompiledValues>> known;
  for (const std::string_view kind : catalogue::kinds) {
    bool any = false;
    for (const auto* plugin : surroundings.catalogue.of_kind(kind)) {
      any = any || !catalogue::built_with(plugin->parameters).empty();
    }
    for (std::size_t index = 0; any && index < plan.size(); ++index) {
      const auto* plugin =
          surroundings.catalogue.find(kind, to_text(plan.get(index, std::string(kind))));
      if (plugin == nullptr) continue;
      auto values =
          compiled_values(*plugin, [&](const std::string& name) { return plan.get(index, name); });
      if (values == catalogue::built_with(plugin->parameters)) continue;
      if (known.contains({plugin->file, values})) continue;
      if (resolve(surroundings, static_cast<std::int64_t>(index), plan.parameters(index)).skipped) {
        continue;
      }
      known.insert({plugin->file, values});
      needs.push_back({plugin, std::move(values)});
    }
  }
  return needs;
}

}  // namespace assay::run
