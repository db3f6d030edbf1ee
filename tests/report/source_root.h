#pragma once

#include <filesystem>

namespace assay::report {

// Of the repository: its layouts, reports and pages.
inline const std::filesystem::path source_root = ASSAY_SOURCE_DIR;

}  // namespace assay::report
