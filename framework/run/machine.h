#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace assay::run {

struct Gpu {
  std::string name;
  std::int64_t memory_bytes = 0;
  std::string compute_capability;  // "9.0"
};

// The machine this process runs on, as far as it can be seen without LibTorch: GPUs through NVML.
struct Machine {
  std::string host;
  std::string cpu;
  int cores = 0;  // this process may use
  std::int64_t memory_bytes = 0;
  std::string system;  // kernel and distribution
  std::string gpu_driver;
  std::vector<Gpu> gpus;
  std::string gpu_problem;  // why no GPU can be seen, when there is none
};

Machine probe_machine();
nlohmann::json to_json(const Machine& machine);

}  // namespace assay::run
