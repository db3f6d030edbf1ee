#pragma once

#include "consumer.cuh"
#include "roles.cuh"

namespace assay::flash {

template <class T>
__device__ void init_barriers(BackwardShared<T>& shared) {
  init_load_barriers<T>(shared);
  for (auto& barrier : shared.slopes_full) init_barrier(barrier, T::consumer_warps);
  for (auto& barrier : shared.keys_empty) init_barrier(barrier, T::consumer_warps);
  init_barrier(shared.values_empty, T::consumer_warps);
  for (auto& barrier : shared.work_full) init_barrier(barrier, 1);
  for (auto& barrier : shared.work_empty) init_barrier(barrier, T::consumer_warps);
  publish_barriers();
}

// dK, dV and the sums of dQ of tiles of keys.
template <class T>
__global__ void __launch_bounds__(T::threads, 1)
    backward(const __grid_constant__ BackwardArguments arguments) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL  // elsewhere the variant is Unsupported, and the kernel empty
  run_roles<T, BackwardShared<T>>(
      arguments, [&](BackwardShared<T>& shared) { produce_tiles<T>(arguments, shared); },
      [&](BackwardShared<T>& shared, const Consumer& me) {
        if (T::first_columns == T::rest_columns || me.group == 0) {
          consume_tiles<T, T::first_columns>(arguments, shared, me);
        } else {
          consume_tiles<T, T::rest_columns>(arguments, shared, me);
        }
      });
#endif
}

}  // namespace assay::flash
