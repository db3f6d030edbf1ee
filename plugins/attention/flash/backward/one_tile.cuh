#pragma once

#include "producer.cuh"
#include "roles.cuh"

// The kernel of a block of threads that takes one tile of 64 keys: both warpgroups have all of
// them, and each half of the queries of a block.
namespace assay::flash {

// Keys and values by warp 0, the queries that see them by warp 1.
template <class T, class Shared>
__device__ inline void produce_tile(const BackwardArguments& arguments, Shared& shared,
                                    const KeyWork& work, int warp) {
  if (warp == 0) {
    const Place place = place_of_keys(work, T::keys);
    load_tile<T::keys, T::loaded_head>(shared.keys[0], arguments.k, place, shared.keys_full[0],
                                       Keep::first_out);
    // The consumers wait for values with the first queries.
    if (query_blocks_of<T>(arguments, work).total > 0) {
      load_tile<T::keys, T::loaded_head>(shared.values[0], arguments.v, place,
                                         shared.values_full[0], Keep::first_out);
    }
  } else {
    unsigned count = 0;
    wait_for_kernel_before();
    load_queries<T>(arguments, shared, work, count);
  }
}

// dK, dV and the sums of dQ of a tile of keys. init_barriers() and consume_one_tile() are those of
// Shared.
template <class T, class Shared>
__global__ void __launch_bounds__(T::threads, 1)
    backward_of_one_tile(const __grid_constant__ BackwardArguments arguments) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL  // elsewhere the variant is Unsupported, and the kernel empty
  const KeyWork work = key_work_at(arguments, static_cast<int>(blockIdx.x));
  run_roles<T, Shared>(
      arguments, [&](Shared& shared, int warp) { produce_tile<T>(arguments, shared, work, warp); },
      [&](Shared& shared, Consumer me) {
        me.row %= group_rows;
        consume_one_tile(arguments, shared, work, query_blocks_of<T>(arguments, work), me);
      });
#endif
}

}  // namespace assay::flash
