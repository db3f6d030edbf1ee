#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace assay::run {

struct MeasuringEnvironment {
  nlohmann::json variables = nlohmann::json::object();  // name to value
  std::vector<std::string> shortened;                   // those whose values lack their folders
};

// Of "NAME=value" texts (as `environ` has them, ended by a null), those that may change a
// measurement: names that begin with CUDA_, CUDNN_, CUBLAS_, NCCL_, OMP_, KMP_, GOMP_, MKL_, GLOO_,
// PYTORCH_, TORCH_, TORCHINDUCTOR_, TORCHDYNAMO_, TRITON_, DNNL_, ONEDNN_, MALLOC_, and
// ATEN_CPU_CAPABILITY, LD_PRELOAD, LD_LIBRARY_PATH, NVIDIA_TF32_OVERRIDE, NVIDIA_VISIBLE_DEVICES,
// ASSAY_PYTHON and ASSAY_HOST_MEMORY_LIMIT.
// Results are handed on, so that nothing else of a user is in them: of a value that holds a path
// only the last parts of its paths are kept, and names that speak of keys, tokens, secrets or
// passwords are left out.
MeasuringEnvironment measuring_environment(const char* const* variables);

// The names of "NAME=value" texts, as `environ` has them.
std::vector<std::string> variable_names(const char* const* variables);

// Whether who repeats a measurement sets a recorded variable as it was. Of others a machine has its
// own: what it runs on, which versions its image has.
bool changes_measurements(std::string_view name);

}  // namespace assay::run
