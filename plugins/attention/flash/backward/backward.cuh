#pragma once

#include "consumer.cuh"
#include "producer.cuh"

namespace assay::flash {

template <class T>
__device__ void init_barriers(BackwardShared<T>& shared) {
  init_load_barriers<T>(shared);
  for (auto& barrier : shared.slopes_full) init_barrier(barrier, T::consumer_warps);
  publish_barriers();
}

// dK, dV and the sums of dQ of a tile of keys. A block of threads for each; its first warpgroup
// loads, the others compute.
template <class T>
__global__ void __launch_bounds__(T::threads, 1)
    backward(const __grid_constant__ BackwardArguments arguments) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL  // elsewhere the variant is Unsupported, and the kernel empty
  extern __shared__ __align__(swizzle_bytes) std::byte memory[];
  auto& shared = *reinterpret_cast<BackwardShared<T>*>(memory);
  const KeyWork work = key_work_at(arguments, static_cast<int>(blockIdx.x));
  QueryBlocks blocks(arguments.shape, work.tile, T::keys, T::rows, work.part,
                     arguments.parts.blocks);
  if constexpr (T::divides_heads_once) {
    blocks.first_head = work.head * (arguments.shape.heads / arguments.shape.kv_heads);
  }

  if (threadIdx.x == 0) {
    prefetch_maps(arguments);
    init_barriers(shared);
  }
  __syncthreads();
  if (threadIdx.x < warpgroup) {
    give_registers_back<T::producer_registers>();
    if (threadIdx.x == 0) produce_backward<T>(arguments, shared, work, blocks);
    if (threadIdx.x >= warp) {
      finish_earlier_round<T>(arguments, shared.values_full, static_cast<int>(threadIdx.x) - warp);
    }
  } else {
    take_registers<T::consumer_registers>();
    blocks.first_head = first_place(arguments, work);
    const Consumer me = consumer_of(static_cast<int>(threadIdx.x) - warpgroup);
    if (T::first_columns == T::rest_columns || me.group == 0) {
      consume_backward<T, T::first_columns>(arguments, shared, work, blocks, me);
    } else {
      consume_backward<T, T::rest_columns>(arguments, shared, work, blocks, me);
    }
  }
#endif
}

}  // namespace assay::flash
