#pragma once

#include "attention/flash/instructions.cuh"
#include "attention/flash/threads.cuh"
#include "attention/flash/tile.cuh"

// Both warpgroups have a tile's 64 keys, and each half of the queries of a block.
namespace assay::flash {

// A warp's 16 keys of its warpgroup's queries, of Pᵀ or dSᵀ: registers → [keys, rows] in shared
// memory.
template <class T>
__device__ __forceinline__ void write_group_queries(
    const std::uint32_t (&numbers)[T::group_queries / 16][4], std::uint32_t tile,
    const Consumer& me) {
  const int first_piece = me.group * T::group_queries / 8;
  const std::uint32_t start =
      tile + swizzled(me.warp % 4 * 16 + me.lane % 16, first_piece + me.lane / 16);
#pragma unroll
  for (int step = 0; step < T::group_queries / 16; ++step) {
    store_matrices(start ^ step * 32, numbers[step]);
  }
}

// What a warp has written may be multiplied.
__device__ __forceinline__ void announce_writes(std::uint64_t& full, const Consumer& me) {
  show_shared_writes();
  __syncwarp();
  release(full, me);
}

}  // namespace assay::flash
