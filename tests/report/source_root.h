#pragma once

#include <filesystem>

namespace assay::report {

// The repository.
inline const std::filesystem::path source_root = ASSAY_SOURCE_DIR;

}  // namespace assay::report
