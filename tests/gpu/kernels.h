#pragma once

#include <cuda_runtime_api.h>

namespace assay::test {

void launch_nothing(cudaStream_t stream);

// One thread spins until the multiprocessor's clock has advanced by so many cycles.
void launch_spin(cudaStream_t stream, long long cycles);

// Same; then writes the cycles taken, and the global timer's nanoseconds meanwhile, to device
// memory.
void launch_recorded_spin(cudaStream_t stream, long long cycles, long long* cycles_and_ns);

// One thread follows `next` for so many steps. Each is a read that bypasses the L1 cache and waits
// for the one before. Writes the final place to `end`.
void launch_chase(cudaStream_t stream, const int* next, int steps, int* end);

}  // namespace assay::test
