#pragma once

#include "consumer.cuh"
#include "roles.cuh"

namespace assay::flash {

template <class T>
__device__ void init_barriers(BackwardShared<T>& shared) {
  init_load_barriers<T>(shared);
  for (auto& barrier : shared.slopes_full) init_barrier(barrier, T::consumer_warps);
  for (auto& barrier : shared.keys_empty) init_barrier(barrier, T::consumer_warps);
  for (auto& barrier : shared.values_empty) init_barrier(barrier, T::consumer_warps);
  for (auto& barrier : shared.work_full) init_barrier(barrier, 1);
  for (auto& barrier : shared.work_empty) init_barrier(barrier, T::consumer_warps + 1);
  init_barrier(shared.queries_loaded, 1);
  publish_barriers();
}

template <int group>
__device__ inline Consumer in_group(Consumer me) {
  me.group = group;
  return me;
}

// dK, dV and the sums of dQ of tiles of keys.
template <class T>
__global__ void __launch_bounds__(T::threads, 1)
    backward(const __grid_constant__ BackwardArguments arguments) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL  // elsewhere the variant is Unsupported, and the kernel empty
  run_roles<T, BackwardShared<T>>(
      arguments,
      [&](BackwardShared<T>& shared, int warp) {
        warp == 0 ? produce_keys<T>(arguments, shared) : produce_queries<T>(arguments, shared);
      },
      [&](BackwardShared<T>& shared, const Consumer& me) {
        if constexpr (T::first_columns == T::rest_columns) {
          consume_tiles<T, T::first_columns>(arguments, shared, me);
        } else if (me.group == 0) {
          consume_tiles<T, T::first_columns>(arguments, shared, in_group<0>(me));
        } else {
          consume_tiles<T, T::rest_columns>(arguments, shared, in_group<1>(me));
        }
      });
#endif
}

}  // namespace assay::flash
