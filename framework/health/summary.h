#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "health/watch.h"

namespace assay::health {

// Work of the cores over a case, or over the half second up to its end where it was shorter. A
// figure is absent where it was not read or the time is too short.
struct CpuWork {
  std::optional<double> own_cores;     // mean, of this process and its descendants
  std::optional<double> others_cores;  // of all other programs
  std::optional<double> stolen_cores;  // by the hypervisor
  std::optional<double> quota_s;       // stopped by the control group's quota
  std::optional<std::int64_t> thermal_events;
};
CpuWork cpu_work(const Observation& observation);

// The rise of a GPU's counter over the case; nullopt for fewer than two readings.
std::optional<double> rise(const Observation& observation, int device,
                           std::optional<double> GpuReading::*counter);

// The processes seen on a GPU, each once.
std::vector<GpuProcess> processes_on(const Observation& observation, int device);

// The "health" of a case's context (docs/results.md).
nlohmann::json to_json(const Observation& observation);

}  // namespace assay::health
