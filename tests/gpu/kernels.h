#pragma once

#include <cuda_runtime_api.h>

namespace assay::test {

// A kernel that does nothing.
void launch_nothing(cudaStream_t stream);

// One thread spins until the multiprocessor's clock has advanced by so many cycles.
void launch_spin(cudaStream_t stream, long long cycles);

// The same; then writes the cycles it really took, and the nanoseconds of the global timer
// meanwhile, to device memory.
void launch_recorded_spin(cudaStream_t stream, long long cycles, long long* cycles_and_ns);

// One thread follows `next` for so many steps, each a read that passes the L1 cache by and waits
// for the one before; the place it ends at is written to `end`.
void launch_chase(cudaStream_t stream, const int* next, int steps, int* end);

}  // namespace assay::test
