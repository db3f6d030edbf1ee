#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "health/cpu_source.h"
#include "health/gpu_source.h"

namespace assay::run {

using health::Gpu;

// The machine this process runs on, as seen without LibTorch: NVML lists the GPUs CUDA may use.
struct Machine {
  std::string host;
  std::string cpu;
  int cores = 0;  // this process may use
  std::int64_t memory_bytes = 0;
  std::string system;  // kernel and distribution
  std::string gpu_driver;
  std::vector<Gpu> gpus;
  std::string gpu_problem;  // why no GPU is seen; "" where one is
  std::string cpu_problem;  // why the load of the cores is unknown; "" where it is known
  nlohmann::json topology;  // probe_topology()
  // Of ranks that a launch engine has started: why its nodes have no place for a case's. Empty: all
  // ranks are of this machine.
  std::function<std::optional<std::string>(int world_size, int nodes, bool on_cuda)> no_place = {};
};

Machine probe_machine(const health::GpuSource& gpus, const health::CpuSource& cpus);
Machine probe_machine();
nlohmann::json to_json(const Machine& machine);
// Leaves empty what the JSON lacks.
Machine machine_from_json(const nlohmann::json& json);

}  // namespace assay::run
