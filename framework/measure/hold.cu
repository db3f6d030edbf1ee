#include <cooperative_groups.h>
#include <cuda_runtime_api.h>

#include "measure/hold.h"

namespace assay::measure {

namespace {

// Divides what a multiprocessor holds, 1024, 1536 or 2048: no thread stays free for other blocks.
constexpr int threads_of_a_block = 512;

// All but one thread of a block rest at its barrier, so that the device draws little power.
__global__ void __launch_bounds__(threads_of_a_block)
    hold(std::int64_t cycles, int number, volatile int* begun) {
  constexpr unsigned nap_ns = 100;
  cooperative_groups::this_grid().sync();
  if (threadIdx.x == 0) {
    const long long begin = clock64();
    if (blockIdx.x == 0) {
      *begun = number;
      __threadfence_system();
    }
    while (clock64() - begin < cycles) __nanosleep(nap_ns);
  }
  __syncthreads();
}

}  // namespace

int blocks_of_a_full_device() {
  int device = 0, together = 0, processors = 0, blocks = 0;
  const bool known =
      cudaGetDevice(&device) == cudaSuccess &&
      cudaDeviceGetAttribute(&together, cudaDevAttrCooperativeLaunch, device) == cudaSuccess &&
      cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device) == cudaSuccess &&
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, hold, threads_of_a_block, 0) ==
          cudaSuccess;
  if (!known) static_cast<void>(cudaGetLastError());  // nobody else is to find it
  return known && together != 0 ? processors * blocks : 0;
}

bool hold_device(int blocks, std::int64_t cycles, int number, int* begun, void* stream) {
  void* arguments[] = {&cycles, &number, &begun};
  const cudaError_t launched = cudaLaunchCooperativeKernel(
      hold, blocks, threads_of_a_block, arguments, 0, static_cast<cudaStream_t>(stream));
  if (launched != cudaSuccess) static_cast<void>(cudaGetLastError());
  return launched == cudaSuccess;
}

}  // namespace assay::measure
