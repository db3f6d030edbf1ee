#include "base/host_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string_view>

#include "base/text.h"

namespace assay {

namespace {

namespace fs = std::filesystem;

std::optional<std::int64_t> number_in(const fs::path& file) {
  std::ifstream stream(file);
  std::int64_t number = 0;
  return stream >> number ? std::optional(number) : std::nullopt;  // empty for "max"
}

void confine(const ControlGroup& files, const fs::path& group, HostMemory& memory) {
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

std::optional<std::int64_t> number_behind(const fs::path& file, const std::string& name) {
  std::ifstream stream(file);
  for (std::string word; stream >> word;) {
    std::int64_t number = 0;
    if (word == name && stream >> number) return number;
  }
  return std::nullopt;
}

// From lines of "number:controllers:path".
fs::path own_control_group(const ControlGroup& files, const fs::path& root) {
  std::ifstream stream(root / "proc/self/cgroup");
  const bool second = files.limit == std::string_view("memory.max");
  for (std::string line; std::getline(stream, line);) {
    const auto parts = split(line, ':');
    if (parts.size() < 3) continue;
    if (second ? parts[0] == "0" : parts[1].find("memory") != std::string::npos) return parts[2];
  }
  return "/";
}

// 1.5 %, within 256 MiB and 2 GiB.
std::int64_t HostMemory::reserve() const {
  return std::clamp(total * 3 / 200, std::int64_t{256} << 20, std::int64_t{2} << 30);
}

std::optional<HostMemory> host_memory() {
  const auto total_kib = number_behind("/proc/meminfo", "MemTotal:");
  const auto available_kib = number_behind("/proc/meminfo", "MemAvailable:");
  if (!total_kib || !available_kib) return std::nullopt;
  HostMemory memory = {*total_kib * 1024, *available_kib * 1024};
  for (const ControlGroup& files : control_groups) {
    if (!fs::exists(files.root)) continue;
    // A container may see its own group as the root.
    fs::path group = own_control_group(files, "/");
    confine(files, "/", memory);
    for (; group.has_relative_path(); group = group.parent_path()) confine(files, group, memory);
  }
  return memory;
}

Result<std::optional<std::int64_t>> host_memory_limit() {
  const char* text = std::getenv(memory_limit_variable);
  if (text == nullptr || *text == '\0') return std::nullopt;
  char* end = nullptr;
  const long long number = std::strtoll(text, &end, 10);
  const auto size = *end == '\0' ? Result<std::int64_t>(number) : parse_size(text);
  if (size && *size > 0) return *size;
  return fail(ExitCode::bad_input,
              fmt::format("{}: '{}' is not a memory limit", memory_limit_variable, text),
              "write a number and a unit, such as 8 GiB, or a number of bytes");
}

}  // namespace assay
