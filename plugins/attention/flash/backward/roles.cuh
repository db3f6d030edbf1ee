#pragma once

#include "attention/flash/threads.cuh"
#include "producer.cuh"

// A block of threads' first warpgroup loads, the others compute.
namespace assay::flash {

// `produce` and `consume` get shared memory; init_barriers() is that of Shared. `produce` is called
// by the first threads of two warps, 0 and 1.
template <class T, class Shared>
__device__ __forceinline__ void run_roles(const BackwardArguments& arguments, const auto& produce,
                                          const auto& consume) {
  extern __shared__ __align__(swizzle_bytes) std::byte memory[];
  auto& shared = *reinterpret_cast<Shared*>(memory);
  if (threadIdx.x == 0) {
    prefetch_maps(arguments);
    init_barriers(shared);
  }
  __syncthreads();
  if (threadIdx.x < warpgroup) {
    give_registers_back<T::producer_registers>();
    if (threadIdx.x % warp == 0 && threadIdx.x < 2 * warp) {
      produce(shared, static_cast<int>(threadIdx.x) / warp);
    }
  } else {
    take_registers<T::consumer_registers>();
    consume(shared, consumer_of(static_cast<int>(threadIdx.x) - warpgroup));
  }
}

}  // namespace assay::flash
