#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
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
};

Machine probe_machine(const health::GpuSource& gpus, const health::CpuSource& cpus);
Machine probe_machine();
nlohmann::json to_json(const Machine& machine);

}  // namespace assay::run
