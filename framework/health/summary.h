#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "health/watch.h"

namespace assay::health {

// Work of the cores over a case, or over the half second up to its end where it was shorter. What
// was not read, or is too short to tell, is absent.
struct CpuWork {
  std::optional<double> own_cores;     // used by this process and its descendants, on average
  std::optional<double> others_cores;  // used by everybody else
  std::optional<double> stolen_cores;  // taken by the hypervisor
  std::optional<double> quota_s;       // time the control group's quota stopped us
  std::optional<std::int64_t> thermal_events;
};
CpuWork cpu_work(const Observation& observation);

// How much a counter of a GPU rose over the case; nothing where it was read only once.
std::optional<double> rise(const Observation& observation, int device,
                           std::optional<double> GpuReading::*counter);

// The processes seen on a GPU, each once.
std::vector<GpuProcess> processes_on(const Observation& observation, int device);

// What a case's context keeps of it, under "health" (docs/results.md).
nlohmann::json to_json(const Observation& observation);

}  // namespace assay::health
