#include "health/summary.h"

#include <algorithm>
#include <set>

#include "health/throttle.h"

namespace assay::health {
namespace {

using nlohmann::json;

// A shorter time says nothing of cores whose work is counted in steps of 10 ms.
constexpr double shortest_work_window_s = 0.4;

template <class Figure>
std::optional<Figure> difference(const std::optional<Figure>& from,
                                 const std::optional<Figure>& to) {
  if (!from || !to) return {};
  return std::max(Figure(0), *to - *from);
}

// The figure of the first and of the last reading that have it.
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

class GpuSummary {
 public:
  GpuSummary(const Observation& observation, int device)
      : observation_(observation), device_(device) {}

  json made() {
    json gpu = {{"device", device_}};
    add_range(gpu, "sm_clock_hz", all(&GpuReading::sm_clock_hz));
    add_range(gpu, "memory_clock_hz", all(&GpuReading::memory_clock_hz));
    add_range(gpu, "temperature_c", all(&GpuReading::temperature_c));
    add_range(gpu, "power_w", all(&GpuReading::power_w));
    add_range(gpu, "utilisation", all(&GpuReading::utilisation));
    if (const auto energy = rise(observation_, device_, &GpuReading::energy_j)) {
      gpu["energy_j"] = *energy;
    }
    add_reasons(gpu);
    add_processes(gpu);
    return gpu;
  }

 private:
  std::vector<double> all(std::optional<double> GpuReading::*figure) const {
    std::vector<double> figures;
    for (const Reading& reading : observation_.readings) {
      for (const GpuReading& gpu : reading.gpus) {
        if (gpu.device == device_ && gpu.*figure) figures.push_back(*(gpu.*figure));
      }
    }
    return figures;
  }

  // The share of readings with each reason, harmless ones too.
  void add_reasons(json& gpu) const {
    const ReasonCounts counts = count_reasons(observation_, device_);
    if (counts.readings == 0) return;
    json shares = json::object();
    for (const auto& [name, bit] : reason_names) {
      const auto at = counts.with.find(bit);
      if (at == counts.with.end()) continue;
      shares[name] = static_cast<double>(at->second) / static_cast<double>(counts.readings);
    }
    gpu["clock_reasons"] = std::move(shares);
  }

  void add_processes(json& gpu) const {
    json others = json::array();
    for (const GpuProcess& process : processes_on(observation_, device_)) {
      if (process.owner == GpuProcess::Owner::us) continue;
      others.push_back({{"pid", process.pid}, {"name", process.name}});
    }
    if (!others.empty()) gpu["other_processes"] = std::move(others);
  }

  const Observation& observation_;
  int device_;
};

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
  std::vector<double> values;
  for (const Reading& reading : observation.readings) {
    for (const GpuReading& gpu : reading.gpus) {
      if (gpu.device == device && gpu.*counter) values.push_back(*(gpu.*counter));
    }
  }
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
  for (const int device : devices) health["gpus"].push_back(GpuSummary(observation, device).made());
  if (json cpu = cpu_summary(observation); !cpu.empty()) health["cpu"] = std::move(cpu);
  return health;
}

}  // namespace assay::health
