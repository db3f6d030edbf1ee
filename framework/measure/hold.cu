#include <cuda_runtime_api.h>

#include "measure/hold.h"

namespace assay::measure {

namespace {

// Divides what a multiprocessor holds, 1024, 1536 or 2048: no thread stays free for other blocks.
constexpr int threads_of_a_block = 512;

__global__ void __launch_bounds__(threads_of_a_block) hold(std::int64_t cycles) {
  constexpr unsigned nap_ns = 100;
  const long long begin = clock64();
  while (clock64() - begin < cycles) __nanosleep(nap_ns);
}

}  // namespace

int blocks_of_a_full_device() {
  int device = 0, processors = 0, blocks = 0;
  const bool known =
      cudaGetDevice(&device) == cudaSuccess &&
      cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device) == cudaSuccess &&
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, hold, threads_of_a_block, 0) ==
          cudaSuccess;
  return known ? processors * blocks : 0;
}

void hold_device(int blocks, std::int64_t cycles, void* stream) {
  hold<<<blocks, threads_of_a_block, 0, static_cast<cudaStream_t>(stream)>>>(cycles);
}

}  // namespace assay::measure
