#include "health/summary.h"

#include <algorithm>
#include <set>

#include "health/throttle.h"

namespace assay::health {
namespace {

using nlohmann::json;

// The kernel counts the cores' work in steps of 10 ms.
constexpr double shortest_work_window_s = 0.4;

template <class Figure>
std::optional<Figure> difference(const std::optional<Figure>& from,
                                 const std::optional<Figure>& to) {
  if (!from || !to) return {};
  return std::max(Figure(0), *to - *from);
}

template <class Figure>
std::optional<Figure> difference_over(const std::vector<Reading>& readings,
                                      std::optional<Figure> CpuReading::*figure) {
  std::optional<Figure> first, last;
  for (const Reading& reading : readings) {
    if (!reading.cpu || !((*reading.cpu).*figure)) continue;
    last = (*reading.cpu).*figure;
    if (!first) first = last;
  }
  return difference(first, last);
}

json range(std::vector<double> figures) {
  std::sort(figures.begin(), figures.end());
  return {
      {"min", figures.front()}, {"median", figures[figures.size() / 2]}, {"max", figures.back()}};
}

void add_range(json& object, const char* name, const std::vector<double>& figures) {
  if (!figures.empty()) object[name] = range(figures);
}

std::vector<double> figures_in(const Observation& observation, int device,
                               std::optional<double> GpuReading::*figure) {
  std::vector<double> figures;
  for (const Reading& reading : observation.readings) {
    for (const GpuReading& gpu : reading.gpus) {
      if (gpu.device == device && gpu.*figure) figures.push_back(*(gpu.*figure));
    }
  }
  return figures;
}

// The share of readings with each reason, harmless ones too.
void add_reasons(json& gpu, const Observation& observation, int device) {
  const ReasonCounts counts = count_reasons(observation, device);
  if (counts.readings == 0) return;
  json shares = json::object();
  for (const auto& [name, bit] : reason_names) {
    const auto at = counts.with.find(bit);
    if (at == counts.with.end()) continue;
    shares[name] = static_cast<double>(at->second) / static_cast<double>(counts.readings);
  }
  gpu["clock_reasons"] = std::move(shares);
}

void add_processes(json& gpu, const Observation& observation, int device) {
  json others = json::array();
  for (const GpuProcess& process : processes_on(observation, device)) {
    if (process.owner == GpuProcess::Owner::us) continue;
    others.push_back({{"pid", process.pid}, {"name", process.name}});
  }
  if (!others.empty()) gpu["other_processes"] = std::move(others);
}

json gpu_summary(const Observation& observation, int device) {
  json gpu = {{"device", device}};
  const auto add = [&](const char* name, std::optional<double> GpuReading::*figure) {
    add_range(gpu, name, figures_in(observation, device, figure));
  };
  add("sm_clock_hz", &GpuReading::sm_clock_hz);
  add("memory_clock_hz", &GpuReading::memory_clock_hz);
  add("temperature_c", &GpuReading::temperature_c);
  add("power_w", &GpuReading::power_w);
  add("utilisation", &GpuReading::utilisation);
  if (const auto energy = rise(observation, device, &GpuReading::energy_j)) {
    gpu["energy_j"] = *energy;
  }
  add_reasons(gpu, observation, device);
  add_processes(gpu, observation, device);
  return gpu;
}

json cpu_summary(const Observation& observation) {
  std::vector<double> load, runnable, frequencies;
  for (const Reading& reading : observation.readings) {
    if (!reading.cpu) continue;
    if (reading.cpu->load) load.push_back(*reading.cpu->load);
    if (reading.cpu->runnable) runnable.push_back(*reading.cpu->runnable);
    if (reading.cpu->lowest_hz) frequencies.push_back(*reading.cpu->lowest_hz);
    if (reading.cpu->highest_hz) frequencies.push_back(*reading.cpu->highest_hz);
  }
  json cpu = json::object();
  const CpuWork work = cpu_work(observation);
  if (work.own_cores) cpu["own_cores"] = *work.own_cores;
  if (work.others_cores) cpu["others_cores"] = *work.others_cores;
  if (work.stolen_cores) cpu["stolen_cores"] = *work.stolen_cores;
  if (work.quota_s) cpu["quota_throttled_s"] = *work.quota_s;
  if (work.thermal_events) cpu["thermal_events"] = *work.thermal_events;
  if (!load.empty()) cpu["load"] = load.back();
  if (!runnable.empty()) cpu["runnable"] = *std::max_element(runnable.begin(), runnable.end());
  add_range(cpu, "frequency_hz", frequencies);
  return cpu;
}

}  // namespace

CpuWork cpu_work(const Observation& observation) {
  CpuWork work;
  std::vector<Reading> readings = observation.readings;
  work.quota_s = difference_over(readings, &CpuReading::quota_s);
  work.thermal_events = difference_over(readings, &CpuReading::thermal_events);
  if (observation.before) readings.insert(readings.begin(), *observation.before);
  std::erase_if(readings, [](const Reading& reading) { return !reading.cpu; });
  if (readings.empty()) return work;
  const double seconds = readings.back().time_s - readings.front().time_s;
  if (seconds < shortest_work_window_s) return work;
  const CpuReading& from = *readings.front().cpu;
  const CpuReading& to = *readings.back().cpu;
  const auto own = difference(from.own_s, to.own_s);
  const auto busy = difference(from.busy_s, to.busy_s);
  const auto stolen = difference(from.stolen_s, to.stolen_s);
  if (own) work.own_cores = *own / seconds;
  if (own && busy) work.others_cores = std::max(0.0, *busy - *own) / seconds;
  if (stolen) work.stolen_cores = *stolen / seconds;
  return work;
}

std::optional<double> rise(const Observation& observation, int device,
                           std::optional<double> GpuReading::*counter) {
  const std::vector<double> values = figures_in(observation, device, counter);
  if (values.size() < 2) return {};
  return std::max(0.0, values.back() - values.front());
}

std::vector<GpuProcess> processes_on(const Observation& observation, int device) {
  std::vector<GpuProcess> processes;
  std::set<int> seen;
  const auto add = [&](const GpuReading& gpu) {
    if (gpu.device != device || !gpu.processes) return;
    for (const GpuProcess& process : *gpu.processes) {
      if (seen.insert(process.pid).second) processes.push_back(process);
    }
  };
  for (const GpuReading& gpu : observation.processes_before) add(gpu);
  for (const Reading& reading : observation.readings) {
    for (const GpuReading& gpu : reading.gpus) add(gpu);
  }
  return processes;
}

json to_json(const Observation& observation) {
  json health = {{"seconds", observation.seconds}, {"readings", observation.readings.size()}};
  std::set<int> devices;
  for (const Reading& reading : observation.readings) {
    for (const GpuReading& gpu : reading.gpus) devices.insert(gpu.device);
  }
  for (const int device : devices) health["gpus"].push_back(gpu_summary(observation, device));
  if (json cpu = cpu_summary(observation); !cpu.empty()) health["cpu"] = std::move(cpu);
  return health;
}

}  // namespace assay::health
