#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace assay::measure {

// Bytes of the last-level caches that the given CPUs reach, each counted once. `folder` is like
// Linux's /sys/devices/system/cpu. 0 where it does not say.
std::int64_t last_level_cache_bytes(const std::filesystem::path& folder,
                                    const std::vector<int>& cpus);

}  // namespace assay::measure
