#pragma once

#include <cstdint>

#include "measure/content_pattern.h"

// Kernels over the memory of a tensor on a GPU, enqueued on a stream (a cudaStream_t). `size` is
// that of an element in bytes: 1, 2, 4 or 8.
namespace assay::measure {

void renew_on_device(void* memory, int size, const Elements& elements, const Contents& from,
                     const Contents& to, void* stream);
void spoil_on_device(void* memory, int size, const Elements& elements, std::uint64_t key,
                     void* stream);
// Adds to *sum, which lies on the device.
void add_fingerprint_on_device(const void* memory, int size, const Elements& elements,
                               const Contents& now, std::uint64_t key, void* sum, void* stream);

}  // namespace assay::measure
