#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "base/error.h"

namespace assay {

// Bytes of the machine, or of this process' control group where that has less left.
struct HostMemory {
  std::int64_t total = 0;
  std::int64_t available = 0;  // without swapping
  // What the rest of the system needs to keep going.
  std::int64_t reserve() const;
};
// Empty where the system does not say.
std::optional<HostMemory> host_memory();

// Limits all workers of a case together: a size such as "8 GiB", or a number of bytes.
inline constexpr const char* memory_limit_variable = "ASSAY_HOST_MEMORY_LIMIT";
// Of the environment, empty where it sets none; ExitCode::bad_input where it cannot be read.
Result<std::optional<std::int64_t>> host_memory_limit();

// The files of a control group: version 2, or version 1's memory controller.
struct ControlGroup {
  const char* root;
  const char* limit;
  const char* used;
  const char* reclaimable;  // in memory.stat
  const char* events;       // newer kernels have a line "oom_kill number" in it
};
inline constexpr ControlGroup control_groups[] = {
    {"/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file", "memory.events"},
    {"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
     "total_inactive_file", "memory.oom_control"}};
// This process' group. root: the folder of /proc.
std::filesystem::path own_control_group(const ControlGroup& files,
                                        const std::filesystem::path& root);

// The number after `name` in lines of "name: number" or "name number".
std::optional<std::int64_t> number_behind(const std::filesystem::path& file,
                                          const std::string& name);

}  // namespace assay
