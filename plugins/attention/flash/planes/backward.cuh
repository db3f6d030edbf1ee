#pragma once

#include "attention/flash/backward/producer.cuh"
#include "backward_consumer.cuh"

namespace assay::flash {

template <class T>
__device__ void init_plane_barriers(PlaneShared<T>& shared) {
  init_load_barriers<T>(shared);
  init_barrier(shared.slopes_full, T::consumer_warps);
  init_barrier(shared.slopes_empty, T::consumer_warps);
  publish_barriers();
}

// dK, dV and the sums of dQ of a tile of keys in planes, as the kernel of 2 bytes (backward.cuh).
template <class T>
__global__ void __launch_bounds__(T::threads, 1)
    backward_in_planes(const __grid_constant__ BackwardArguments arguments) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL  // elsewhere the variant is Unsupported, and the kernel empty
  extern __shared__ __align__(swizzle_bytes) std::byte memory[];
  auto& shared = *reinterpret_cast<PlaneShared<T>*>(memory);
  const KeyWork work = key_work_at(arguments, static_cast<int>(blockIdx.x));
  QueryBlocks blocks(arguments.shape, work.tile, T::keys, T::rows, work.part,
                     arguments.parts.blocks);
  blocks.first_head = work.head * (arguments.shape.heads / arguments.shape.kv_heads);

  if (threadIdx.x == 0) {
    prefetch_maps(arguments);
    init_plane_barriers(shared);
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
    Consumer me = consumer_of(static_cast<int>(threadIdx.x) - warpgroup);
    me.row %= group_rows;  // both warpgroups have all keys of the tile
    consume_planes<T>(arguments, shared, work, blocks, me);
  }
#endif
}

}  // namespace assay::flash
