#include "run/process/host_memory.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <numeric>
#include <sstream>

#include "base/text.h"
#include "health/process_table.h"

namespace assay::run {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view ran_out = "host memory ran out";

}  // namespace

std::int64_t resident_bytes(pid_t pid) {
  std::ifstream stream(fmt::format("/proc/{}/statm", pid));
  std::int64_t size = 0;
  std::int64_t resident = 0;
  return stream >> size >> resident ? resident * ::sysconf(_SC_PAGESIZE) : 0;
}

std::int64_t proportional_bytes(pid_t pid) {
  const auto kib = number_behind(fmt::format("/proc/{}/smaps_rollup", pid), "Pss:");
  return kib ? *kib * 1024 : resident_bytes(pid);
}

std::int64_t peak_bytes(pid_t pid) {
  const auto kib = number_behind(fmt::format("/proc/{}/status", pid), "VmHWM:");
  return kib ? *kib * 1024 : 0;
}

void forget_peak(pid_t pid) {
  std::ofstream(fmt::format("/proc/{}/clear_refs", pid)) << "5";  // sets the peak to what it holds
}

OutOfMemoryKills::OutOfMemoryKills(const fs::path& root) : file_(root / "proc/vmstat") {
  for (const ControlGroup& files : control_groups) {
    const fs::path mount = root / fs::path(files.root).relative_path();
    // A container may see its own group as the root.
    for (const fs::path& group : {own_control_group(files, root), fs::path("/")}) {
      const fs::path events = mount / group.relative_path() / files.events;
      if (!number_behind(events, "oom_kill")) continue;
      file_ = events;
      begin();
      return;
    }
  }
  begin();
}

std::int64_t OutOfMemoryKills::count() const {
  return number_behind(file_, "oom_kill").value_or(0);
}

Result<MemoryGuard> MemoryGuard::from_environment() {
  const auto limit = host_memory_limit();
  if (!limit) return tl::unexpected(limit.error());
  return MemoryGuard(*limit);
}

MemoryGuard::Look MemoryGuard::look(const std::vector<pid_t>& processes) const {
  std::vector<std::set<int>> families;
  for (const pid_t process : processes) {
    families.push_back(health::ProcessTable("/proc", process).family());
  }
  const auto judge_by = [&](std::int64_t (*bytes)(pid_t)) {
    std::vector<std::int64_t> held;
    for (const std::set<int>& family : families) {
      held.push_back(0);
      for (const int member : family) held.back() += bytes(member);
    }
    return judge(held, host_memory());
  };
  const Look look = judge_by(resident_bytes);
  // resident_bytes() counts the memory that a fork shares with its parent twice.
  return look.stop ? judge_by(proportional_bytes) : look;
}

void MemoryGuard::begin(const std::vector<pid_t>& processes) const {
  if (!limit_bytes_) return;
  for (const pid_t process : processes) {
    for (const int member : health::ProcessTable("/proc", process).family()) forget_peak(member);
  }
}

MemoryGuard::Look MemoryGuard::look_back(const std::vector<pid_t>& processes) const {
  if (!limit_bytes_ || processes.empty()) return {};
  std::vector<std::int64_t> held;
  for (const pid_t process : processes) {
    held.push_back(0);
    for (const int member : health::ProcessTable("/proc", process).family()) {
      const std::int64_t given_back = peak_bytes(member) - resident_bytes(member);
      held.back() += proportional_bytes(member) + std::max<std::int64_t>(given_back, 0);
    }
  }
  return judge(held, std::nullopt);
}

MemoryGuard::Look MemoryGuard::judge(const std::vector<std::int64_t>& resident,
                                     std::optional<HostMemory> host) const {
  Look look;
  look.largest = static_cast<std::size_t>(std::max_element(resident.begin(), resident.end()) -
                                          resident.begin());
  const std::int64_t held = std::accumulate(resident.begin(), resident.end(), std::int64_t{0});
  std::int64_t room = std::numeric_limits<std::int64_t>::max();
  if (limit_bytes_) {
    room = *limit_bytes_ - held;
    if (room < 0) {
      look.stop = fmt::format("{}: {} in use, the limit of {} is {}", ran_out, human_size(held),
                              memory_limit_variable, human_size(*limit_bytes_));
    }
  }
  if (host) {
    const std::int64_t reserve = host->reserve();
    room = std::min(room, host->available - reserve);
    // Stopping a small worker does not help against another program that filled the machine.
    if (host->available < reserve && held > host->total / 10 && !look.stop) {
      look.stop =
          fmt::format("{}: {} in use, {} of {} left; stopped before the machine swaps", ran_out,
                      human_size(held), human_size(host->available), human_size(host->total));
    }
  }
  // No process fills memory faster than about 16 GiB/s.
  constexpr double bytes_per_ms = 16.0 * (1 << 30) / 1000;
  look.next_ms =
      static_cast<int>(std::clamp(static_cast<double>(room) / bytes_per_ms, 20.0, 500.0));
  return look;
}

bool is_out_of_memory(const Error& error) {
  return !error.diagnostics.empty() && error.diagnostics.front().message.starts_with(ran_out);
}

}  // namespace assay::run
