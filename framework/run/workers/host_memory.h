#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"

namespace assay::run {

// The memory of the machine, or of the control group this process is confined to, whichever has
// less left. All in bytes.
struct HostMemory {
  std::int64_t total = 0;
  std::int64_t available = 0;  // without swapping
};
// Nothing where the system does not say.
std::optional<HostMemory> host_memory();

// What a process has in memory now; 0 where it is gone.
std::int64_t resident_bytes(pid_t pid);
// The same, but of what it shares with others only its part. Takes the system longer to tell.
std::int64_t proportional_bytes(pid_t pid);

// Whether the system has ended processes for want of memory: those of this process' control group,
// where that counts them, else any of the machine's. What it starts is in the same group.
class OutOfMemoryKills {
 public:
  // root: what /proc and /sys lie under, another one in tests. Counts from here on.
  explicit OutOfMemoryKills(const std::filesystem::path& root = "/");

  // Forgets those there were.
  void begin() { before_ = count(); }
  bool any() const { return count() > before_; }

 private:
  std::int64_t count() const;

  std::filesystem::path file_;
  std::int64_t before_ = 0;
};

// The limit for all workers of a case together: a size such as "8 GiB", or a number of bytes.
inline constexpr const char* memory_limit_variable = "ASSAY_HOST_MEMORY_LIMIT";

// Says when worker processes must be stopped: before the machine starts to swap, or past the limit.
class MemoryGuard {
 public:
  // The limit of the environment; ExitCode::bad_input where it cannot be read.
  static Result<MemoryGuard> from_environment();
  explicit MemoryGuard(std::optional<std::int64_t> limit_bytes) : limit_bytes_(limit_bytes) {}

  struct Look {
    std::optional<std::string> stop;  // why the workers must be stopped
    std::size_t largest = 0;          // the place of the largest of them
    int next_ms = 0;                  // when to look again, at the latest
  };
  // Each of these processes with all that descends from it.
  Look look(const std::vector<pid_t>& processes) const;
  // The same for known figures. resident: of each worker, not empty.
  Look judge(const std::vector<std::int64_t>& resident, std::optional<HostMemory> host) const;

 private:
  std::optional<std::int64_t> limit_bytes_;
};

}  // namespace assay::run
