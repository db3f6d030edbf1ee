#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/host_memory.h"

namespace assay::run {

// 0 where the process is gone.
std::int64_t resident_bytes(pid_t pid);
// Divides shared memory among the processes that share it. Slower than resident_bytes().
std::int64_t proportional_bytes(pid_t pid);

// Counts the processes that the system's out-of-memory killer has ended: in this process' control
// group, which includes its children, or on the whole machine where the group has no count.
class OutOfMemoryKills {
 public:
  // root: the folder of /proc and /sys. Counts from now on.
  explicit OutOfMemoryKills(const std::filesystem::path& root = "/");

  // Counts from now on.
  void begin() { before_ = count(); }
  bool any() const { return count() > before_; }

 private:
  std::int64_t count() const;

  std::filesystem::path file_;
  std::int64_t before_ = 0;
};

// The most that the process has held at once, since it began or since forget_peak().
std::int64_t peak_bytes(pid_t pid);
void forget_peak(pid_t pid);

// Decides when worker processes must be stopped: before the machine swaps, or past the limit.
class MemoryGuard {
 public:
  // The limit of the environment; ExitCode::bad_input where it cannot be read.
  static Result<MemoryGuard> from_environment();
  explicit MemoryGuard(std::optional<std::int64_t> limit_bytes) : limit_bytes_(limit_bytes) {}
  // Of one of so many that share the limit.
  MemoryGuard shared_by(int several) const {
    return MemoryGuard(limit_bytes_ ? std::optional(*limit_bytes_ / several) : std::nullopt);
  }

  struct Look {
    std::optional<std::string> stop;  // why the workers must be stopped
    std::size_t largest = 0;          // index of the largest worker
    int next_ms = 0;                  // time to the next look, at most
  };
  // Counts the descendants of each process with it.
  Look look(const std::vector<pid_t>& processes) const;
  // What a case held at once and has given back before anybody looked, from begin() to look_back().
  // Without a limit both do nothing.
  void begin(const std::vector<pid_t>& processes) const;
  Look look_back(const std::vector<pid_t>& processes) const;
  // resident: bytes of each worker, not empty.
  Look judge(const std::vector<std::int64_t>& resident, std::optional<HostMemory> host) const;

 private:
  std::optional<std::int64_t> limit_bytes_;
};

// Whether it is what Look::stop says.
bool is_out_of_memory(const Error& error);

}  // namespace assay::run
