#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "run/cases/resolve.h"

namespace assay::run {

// The environment variable with the folders whose external variants may run without being asked
// for: absolute paths, separated by colons.
inline constexpr const char* trusted_variable = "ASSAY_TRUSTED";

// Whether the descriptor lies in one of the folders, or below one, once every link and ".." in
// either path is followed. Folders that are not absolute or not there are passed over.
bool is_trusted(const std::filesystem::path& descriptor, std::string_view folders);

// Why this external variant may not run its program here, and how it may; nullopt where it may: it
// was allowed on the command line, or the environment trusts its folder.
std::optional<std::string> why_not_permitted(const catalogue::PluginInfo& external, bool allowed);

// Skips a case whose program may not run, unless it is skipped anyway.
void require_permission(ResolvedCase& resolved, bool allowed);

}  // namespace assay::run
