#pragma once

#include <c10/core/Device.h>

#include <cstdint>

namespace assay {

// Bytes of LibTorch's tensors on a device: of all of them now, and the most at any moment since the
// last reset. On a CPU those of the case's threads.
std::int64_t allocated_memory(const c10::Device& device);
std::int64_t peak_memory(const c10::Device& device);
void reset_peak_memory(const c10::Device& device);

// Bytes of the host that this rank may still take: its share of what the machine, or the process'
// control group, and ASSAY_HOST_MEMORY_LIMIT leave. Whoever takes more is stopped.
std::int64_t available_host_memory();

}  // namespace assay
