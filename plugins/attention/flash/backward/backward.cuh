#pragma once

#include "consumer.cuh"
#include "roles.cuh"

namespace assay::flash {

template <class T>
__device__ void init_barriers(BackwardShared<T>& shared) {
  init_load_barriers<T>(shared);
  for (auto& barrier : shared.slopes_full) init_barrier(barrier, T::consumer_warps);
  publish_barriers();
}

// dK, dV and the sums of dQ of a tile of keys.
template <class T>
__global__ void __launch_bounds__(T::threads, 1)
    backward(const __grid_constant__ BackwardArguments arguments) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL  // elsewhere the variant is Unsupported, and the kernel empty
  run_roles<T, BackwardShared<T>>(arguments, [&](BackwardShared<T>& shared, const KeyWork& work,
                                                 const QueryBlocks& blocks, const Consumer& me) {
    if (T::first_columns == T::rest_columns || me.group == 0) {
      consume_backward<T, T::first_columns>(arguments, shared, work, blocks, me);
    } else {
      consume_backward<T, T::rest_columns>(arguments, shared, work, blocks, me);
    }
  });
#endif
}

}  // namespace assay::flash
