#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "run/cases/resolve.h"

namespace assay::run {

// Names the folders whose external variants are permitted: absolute paths, separated by colons.
inline constexpr const char* trusted_variable = "ASSAY_TRUSTED";

// Whether the descriptor lies in or below one of the folders, with links and ".." resolved.
// Relative and missing folders are ignored.
bool is_trusted(const std::filesystem::path& descriptor, std::string_view folders);

// Why this external variant may not run its program, and how to permit it; nullopt where the
// command line (`allowed`) or trusted_variable permits it.
std::optional<std::string> why_not_permitted(const catalogue::PluginInfo& external, bool allowed);

// Skips a case whose program is not permitted.
void require_permission(ResolvedCase& resolved, bool allowed);

}  // namespace assay::run
