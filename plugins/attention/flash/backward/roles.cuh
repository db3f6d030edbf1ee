#pragma once

#include "attention/flash/threads.cuh"
#include "producer.cuh"
#include "rounds.cuh"

// A block of threads has a tile of keys: its first warpgroup loads, and finishes dQ of an earlier
// round; the others compute.
namespace assay::flash {

// `consume` gets shared memory, the tile, the blocks of queries and where the thread stands.
// init_barriers() is that of Shared.
template <class T, class Shared, class Consume>
__device__ __forceinline__ void run_roles(const BackwardArguments& arguments,
                                          const Consume& consume) {
  extern __shared__ __align__(swizzle_bytes) std::byte memory[];
  auto& shared = *reinterpret_cast<Shared*>(memory);
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
    consume(shared, work, blocks, consumer_of(static_cast<int>(threadIdx.x) - warpgroup));
  }
}

}  // namespace assay::flash
