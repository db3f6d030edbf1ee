#include "gpu/kernels.h"

namespace assay::test {

namespace {

__device__ long long global_ns() {
  long long ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
  return ns;
}

__device__ long long spin(long long cycles) {
  const long long start = clock64();
  long long passed = 0;
  while (passed < cycles) passed = clock64() - start;
  return passed;
}

__global__ void nothing_kernel() {}

__global__ void spin_kernel(long long cycles) { spin(cycles); }

__global__ void recorded_spin_kernel(long long cycles, long long* cycles_and_ns) {
  const long long start_ns = global_ns();
  const long long passed = spin(cycles);
  cycles_and_ns[0] = passed;
  cycles_and_ns[1] = global_ns() - start_ns;
}

__global__ void chase_kernel(const int* next, int steps, int* end) {
  int place = 0;
  for (int i = 0; i < steps; ++i) place = __ldcg(next + place);
  *end = place;
}

}  // namespace

void launch_nothing(cudaStream_t stream) { nothing_kernel<<<1, 1, 0, stream>>>(); }

void launch_spin(cudaStream_t stream, long long cycles) {
  spin_kernel<<<1, 1, 0, stream>>>(cycles);
}

void launch_recorded_spin(cudaStream_t stream, long long cycles, long long* cycles_and_ns) {
  recorded_spin_kernel<<<1, 1, 0, stream>>>(cycles, cycles_and_ns);
}

void launch_chase(cudaStream_t stream, const int* next, int steps, int* end) {
  chase_kernel<<<1, 1, 0, stream>>>(next, steps, end);
}

}  // namespace assay::test
