#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "run/cases/compiled_libraries.h"
#include "run/process/installation.h"

namespace assay::run {

// Builds a library for each need from the plugin's sources, or takes it from the cache; several
// beside each other, each told on stderr. Without sources or a compiler its cases are skipped. A
// value that the compiler refuses is unsupported or an error, with the compiler's reason.
CompiledLibraries build_compiled(const Installation& installation,
                                 const std::vector<CompiledNeed>& needs,
                                 const std::function<bool()>& stop = {});

// Why no further library of the plugin can be built here, found without building; empty where
// nothing is missing. Those in the cache are there all the same.
std::optional<std::string> cannot_build(const Installation& installation,
                                        const catalogue::PluginInfo& plugin);

}  // namespace assay::run
