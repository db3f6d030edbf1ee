#pragma once

#include "attention/flash/instructions.cuh"
#include "attention/flash/threads.cuh"
#include "attention/flash/tile.cuh"

// What warpgroups hand each other through shared memory: Pᵀ and dSᵀ.
namespace assay::flash {

// A warp's 16 keys: registers → `tile` [keys, rows], from key `first_key` and query `first_query`
// on, both multiples of 16.
template <class T, int steps>
__device__ __forceinline__ void write_transposed(const std::uint32_t (&numbers)[steps][4],
                                                 std::uint32_t tile, int first_key, int first_query,
                                                 const Consumer& me) {
  const std::uint32_t start =
      tile + swizzled(first_key + me.lane % 16, first_query / 8 + me.lane / 16);
#pragma unroll
  for (int step = 0; step < steps; ++step) {
    store_matrices((start ^ step * 2 % 8 * 16) + step * 2 / 8 * T::keys * block_row_bytes,
                   numbers[step]);
  }
}

// What a warp has written may be multiplied.
__device__ __forceinline__ void announce_writes(std::uint64_t& full, const Consumer& me) {
  show_shared_writes();
  __syncwarp();
  release(full, me);
}

}  // namespace assay::flash
