#pragma once

#include <filesystem>

namespace assay::microbench {

// Registers whole runs at each level of measure.integrity, with the looks that their passes took.
void add_runs(const std::filesystem::path& folder);

}  // namespace assay::microbench
