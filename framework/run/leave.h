#pragma once

#include <filesystem>
#include <string_view>

namespace assay::run {

// The environment variable with the folders whose external variants may run without being asked
// for: absolute paths, separated by colons.
inline constexpr const char* trusted_variable = "ASSAY_TRUSTED";

// Whether the descriptor lies in one of the folders, or below one, once every link and ".." in
// either path is followed. Folders that are not absolute or not there are passed over.
bool is_trusted(const std::filesystem::path& descriptor, std::string_view folders);

}  // namespace assay::run
