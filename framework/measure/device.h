#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace assay::measure {

// Whether this build and this machine can use CUDA.
bool cuda_available();
int cuda_device_count();
// Makes the device current for this thread; nothing on a CPU.
void use_device(const c10::Device& device);
// Waits until all work of the device is done.
void synchronize(const c10::Device& device);
// Hands cached memory back to the device.
void empty_cache(const c10::Device& device);
// LibTorch, CUDA runtime and driver, cuDNN and NCCL, as far as this build has them.
nlohmann::json versions();

}  // namespace assay::measure
