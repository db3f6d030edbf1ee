#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace assay::measure {

// Whether both this build and this machine have CUDA.
bool cuda_available();
int cuda_device_count();
void use_device(const c10::Device& device);
void synchronize(const c10::Device& device);
// Seconds for which the device goes on once the current stream, on which calls are timed, has done
// its work: what other streams still do. 0 on a CPU, and where the system let another thread run in
// this one's place meanwhile, which takes as long.
double other_streams_s(const c10::Device& device);
void empty_cache(const c10::Device& device);
// Versions of LibTorch, CUDA runtime and driver, cuDNN and NCCL, as far as this build has them.
nlohmann::json versions();

}  // namespace assay::measure
