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

// The number after `name` in lines of "name: number" or "name number".
std::optional<std::int64_t> number_behind(const fs::path& file, const std::string& name) {
  std::ifstream stream(file);
  for (std::string word; stream >> word;) {
    std::int64_t number = 0;
    if (word == name && stream >> number) return number;
  }
  return std::nullopt;
}

std::optional<std::int64_t> number_in(const fs::path& file) {
  std::ifstream stream(file);
  std::int64_t number = 0;
  return stream >> number ? std::optional(number) : std::nullopt;  // empty for "max"
}

// The files of a control group: version 2, or version 1's memory controller.
struct GroupFiles {
  const char* root;
  const char* limit;
  const char* used;
  const char* reclaimable;  // in memory.stat
  const char* events;       // newer kernels have a line "oom_kill number" in it
};
constexpr GroupFiles versions[] = {
    {"/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file", "memory.events"},
    {"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
     "total_inactive_file", "memory.oom_control"}};

// This process' group, from lines of "number:controllers:path".
fs::path group_of(const GroupFiles& files, const fs::path& root) {
  std::ifstream stream(root / "proc/self/cgroup");
  const bool second = files.limit == std::string_view("memory.max");
  for (std::string line; std::getline(stream, line);) {
    const auto parts = split(line, ':');
    if (parts.size() < 3) continue;
    if (second ? parts[0] == "0" : parts[1].find("memory") != std::string::npos) return parts[2];
  }
  return "/";
}

void confine(const GroupFiles& files, const fs::path& group, HostMemory& memory) {
  const fs::path folder = fs::path(files.root) / group.relative_path();
  const auto limit = number_in(folder / files.limit);
  const auto used = number_in(folder / files.used);
  if (!limit || !used || *limit >= memory.total) return;
  const std::int64_t reclaimable =
      number_behind(folder / "memory.stat", files.reclaimable).value_or(0);
  memory.available = std::min(memory.available, *limit - *used + reclaimable);
  memory.total = *limit;
}

}  // namespace

std::optional<HostMemory> host_memory() {
  const auto total_kib = number_behind("/proc/meminfo", "MemTotal:");
  const auto available_kib = number_behind("/proc/meminfo", "MemAvailable:");
  if (!total_kib || !available_kib) return std::nullopt;
  HostMemory memory = {*total_kib * 1024, *available_kib * 1024};
  for (const GroupFiles& files : versions) {
    if (!fs::exists(files.root)) continue;
    // A container may see its own group as the root.
    fs::path group = group_of(files, "/");
    confine(files, "/", memory);
    for (; group.has_relative_path(); group = group.parent_path()) confine(files, group, memory);
  }
  return memory;
}

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
  for (const GroupFiles& files : versions) {
    const fs::path mount = root / fs::path(files.root).relative_path();
    // A container may see its own group as the root.
    for (const fs::path& group : {group_of(files, root), fs::path("/")}) {
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
  const char* text = std::getenv(memory_limit_variable);
  if (text == nullptr || *text == '\0') return MemoryGuard(std::nullopt);
  char* end = nullptr;
  const long long number = std::strtoll(text, &end, 10);
  const auto size = *end == '\0' ? Result<std::int64_t>(number) : parse_size(text);
  if (size && *size > 0) return MemoryGuard(*size);
  return fail(ExitCode::bad_input,
              fmt::format("{}: '{}' is not a memory limit", memory_limit_variable, text),
              "write a number and a unit, such as 8 GiB, or a number of bytes");
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
    // The rest of the system needs 1.5 %, within 256 MiB and 2 GiB, to keep going.
    const std::int64_t reserve =
        std::clamp(host->total * 3 / 200, std::int64_t{256} << 20, std::int64_t{2} << 30);
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
