#pragma once

#include "attention/flash/backward/roles.cuh"
#include "consumer.cuh"

namespace assay::flash {

template <class T>
__device__ void init_barriers(WideShared<T>& shared) {
  init_load_barriers<T>(shared);
  init_barrier(shared.weights_full, T::consumer_warps);
  init_barrier(shared.slopes_full, T::consumer_warps);
  publish_barriers();
}

// dK, dV and the sums of dQ of a tile of keys of a wide head, otherwise as of others
// (backward/backward.cuh).
template <class T>
__global__ void __launch_bounds__(T::threads, 1)
    backward_of_wide(const __grid_constant__ BackwardArguments arguments) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL  // elsewhere the variant is Unsupported, and the kernel empty
  const KeyWork work = key_work_at(arguments, static_cast<int>(blockIdx.x));
  run_roles<T, WideShared<T>>(
      arguments,
      [&](WideShared<T>& shared, int warp) { produce_tile<T>(arguments, shared, work, warp); },
      [&](WideShared<T>& shared, Consumer me) {
        me.row %= group_rows;  // both warpgroups have all keys of the tile
        consume_wide<T>(arguments, shared, work, query_blocks_of<T>(arguments, work), me);
      });
#endif
}

}  // namespace assay::flash
