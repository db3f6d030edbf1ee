#include "health/cpu_source.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <set>

#include "base/text.h"
#include "health/text_file.h"

namespace assay::health {
namespace {

constexpr std::size_t frequencies_read = 8;  // cores

// An edge of a case reads frequencies, and thermal events, only where that takes less.
constexpr double cheap_s = 0.0003;

double seconds_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double ticks_per_s() { return static_cast<double>(::sysconf(_SC_CLK_TCK)); }

// The folder of this process's control group with CPU statistics (cgroups(7)): of version 2, else
// of version 1's controller `cpu`. A container may lack the path; its own group is then the root.
std::string find_control_group(const std::string& root, int self) {
  const auto groups = read_text(root + "/proc/" + std::to_string(self) + "/cgroup");
  for (const std::string& line : split(groups.value_or(""), '\n')) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::vector<std::string> controllers =
        split(line.substr(first + 1, second - first - 1), ',');
    const bool has_cpu =
        std::find(controllers.begin(), controllers.end(), "cpu") != controllers.end();
    if (!has_cpu && line[0] != '0') continue;
    const std::string mount = root + "/sys/fs/cgroup" + (has_cpu ? "/cpu" : "");
    for (const std::string& folder : {mount + line.substr(second + 1), mount}) {
      if (read_text(folder + "/cpu.stat", 1)) return folder;
    }
  }
  return {};
}

// "key value" lines.
std::optional<long long> value_of(const std::string& text, std::string_view key) {
  const auto list = words(text);
  const auto at = std::find(list.begin(), list.end(), key);
  return at == list.end() || std::next(at) == list.end() ? std::nullopt : number(*std::next(at));
}

}  // namespace

CpuSource::Settings CpuSource::here() {
  Settings settings;
  settings.self = static_cast<int>(::getpid());
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) == 0) {
    for (int core = 0; core < CPU_SETSIZE; ++core) {
      if (CPU_ISSET(core, &set)) settings.cores.push_back(core);
    }
  }
  return settings;
}

CpuSource::CpuSource(Settings settings)
    : settings_(std::move(settings)),
      processes_(settings_.root + "/proc", settings_.self),
      control_group_(find_control_group(settings_.root, settings_.self)),
      quota_cores_(find_quota()) {}

std::string CpuSource::problem() const {
  return read_text(proc("stat"), 1) ? "" : proc("stat") + " cannot be read";
}

std::string CpuSource::core_folder(int core) const {
  return settings_.root + "/sys/devices/system/cpu/cpu" + std::to_string(core);
}

void CpuSource::read(Depth depth, const std::vector<int>&, Reading& reading) {
  if (depth == Depth::glance) return;
  CpuReading cpu;
  read_work(cpu, depth == Depth::thorough);
  if (!cpu.busy_s) return;
  read_quota(cpu);
  // Some kernels wait for every core to tell its frequency.
  const bool thorough = depth == Depth::thorough;
  if (thorough || frequencies_took_s_ < cheap_s) {
    frequencies_took_s_ = seconds_of([&] { read_frequencies(cpu); });
  }
  if (thorough || thermal_events_took_s_ < cheap_s) {
    thermal_events_took_s_ = seconds_of([&] { read_thermal_events(cpu); });
  }
  reading.cpu = cpu;
}

// "cpu3 user nice system idle iowait irq softirq steal guest guest_nice" (proc_stat(5)); guests are
// counted in user and nice already.
void CpuSource::read_work(CpuReading& cpu, bool thorough) {
  cpu.own_s = processes_.own_cpu_s(thorough);
  const auto text = read_text(proc("stat"));
  if (!text) return;
  const std::set<int> cores(settings_.cores.begin(), settings_.cores.end());
  double busy = 0;
  double stolen = 0;
  bool any = false;
  for (const std::string& line : split(*text, '\n')) {
    const auto fields = words(line);
    if (fields.size() < 2) continue;
    if (fields[0] == "procs_running") cpu.runnable = static_cast<int>(*number(fields[1]));
    if (!fields[0].starts_with("cpu") || fields[0].size() == 3 || fields.size() < 9) continue;
    if (!cores.contains(static_cast<int>(number(fields[0].substr(3)).value_or(-1)))) continue;
    any = true;
    for (const std::size_t field : {1, 2, 3, 6, 7}) {
      busy += static_cast<double>(number(fields[field]).value_or(0));
    }
    stolen += static_cast<double>(number(fields[8]).value_or(0));
  }
  if (!any) return;
  cpu.busy_s = busy / ticks_per_s();
  cpu.stolen_s = stolen / ticks_per_s();
  const auto load = read_text(proc("loadavg"), 128);
  if (load && !words(*load).empty()) cpu.load = real(words(*load).front());
}

void CpuSource::read_quota(CpuReading& cpu) const {
  if (control_group_.empty()) return;
  const auto text = read_text(control_group_ + "/cpu.stat");
  if (!text) return;
  if (const auto us = value_of(*text, "throttled_usec")) {
    cpu.quota_s = static_cast<double>(*us) * 1e-6;
  } else if (const auto ns = value_of(*text, "throttled_time")) {
    cpu.quota_s = static_cast<double>(*ns) * 1e-9;
  }
}

void CpuSource::read_frequencies(CpuReading& cpu) const {
  const std::size_t step = std::max<std::size_t>(1, settings_.cores.size() / frequencies_read);
  for (std::size_t i = 0; i < settings_.cores.size(); i += step) {
    const auto khz = read_number(core_folder(settings_.cores[i]) + "/cpufreq/scaling_cur_freq");
    if (!khz && i == 0) return read_frequencies_of_cpuinfo(cpu);
    if (!khz) continue;
    const double hz = static_cast<double>(*khz) * 1e3;
    cpu.lowest_hz = std::min(cpu.lowest_hz.value_or(hz), hz);
    cpu.highest_hz = std::max(cpu.highest_hz.value_or(hz), hz);
  }
}

void CpuSource::read_frequencies_of_cpuinfo(CpuReading& cpu) const {
  constexpr std::size_t enough = 16384;  // some ten cores
  const auto text = read_text(proc("cpuinfo"), enough);
  for (const std::string& line : split(text.value_or(""), '\n')) {
    const std::size_t colon = line.find(':');
    if (!line.starts_with("cpu MHz") || colon == std::string::npos) continue;
    const auto mhz = real(line.substr(colon + 1));
    if (!mhz) continue;
    cpu.lowest_hz = std::min(cpu.lowest_hz.value_or(*mhz * 1e6), *mhz * 1e6);
    cpu.highest_hz = std::max(cpu.highest_hz.value_or(*mhz * 1e6), *mhz * 1e6);
  }
}

// Intel's driver counts events of the core and of its package.
void CpuSource::read_thermal_events(CpuReading& cpu) const {
  for (const int core : settings_.cores) {
    const std::string folder = core_folder(core) + "/thermal_throttle/";
    const auto of_core = read_number(folder + "core_throttle_count");
    if (!of_core) return;
    cpu.thermal_events = cpu.thermal_events.value_or(0) + *of_core +
                         read_number(folder + "package_throttle_count").value_or(0);
  }
}

double CpuSource::find_quota() const {
  const double all = static_cast<double>(cores());
  if (control_group_.empty()) return all;
  if (const auto text = read_text(control_group_ + "/cpu.max", 128)) {
    const auto fields = words(*text);
    if (fields.size() < 2) return all;
    const auto quota = number(fields[0]), period = number(fields[1]);  // "max" is no number
    return quota && period && *period > 0
               ? std::min(all, static_cast<double>(*quota) / static_cast<double>(*period))
               : all;
  }
  const auto quota = read_number(control_group_ + "/cpu.cfs_quota_us");
  const auto period = read_number(control_group_ + "/cpu.cfs_period_us");
  return quota && period && *quota > 0 && *period > 0
             ? std::min(all, static_cast<double>(*quota) / static_cast<double>(*period))
             : all;
}

std::string CpuSource::governor() const {
  if (settings_.cores.empty()) return {};
  const auto text = read_text(core_folder(settings_.cores.front()) + "/cpufreq/scaling_governor");
  return text ? std::string(trim(*text)) : std::string();
}

}  // namespace assay::health
