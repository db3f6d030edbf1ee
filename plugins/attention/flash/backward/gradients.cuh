#pragma once

#include "attention/flash/instructions.cuh"
#include "attention/flash/softmax.cuh"
#include "attention/flash/threads.cuh"
#include "key_parts.cuh"
#include "schedule.cuh"
#include "tile.cuh"

// dK and dV leave their warps' registers for the tensors, by way of shared memory.
namespace assay::flash {

// A warp's 16 rows of dK or dV: registers → `tile` [keys, head] → the tensor. Rows beyond the last
// key and columns beyond the head are left out.
template <class T, int count>
__device__ __forceinline__ void write_gradient(const float (&gradient)[count], float scale,
                                               const CUtensorMap& map, std::byte* tile, Place place,
                                               const Consumer& me) {
  const int first_row = key_warp_of<T>(me) * 16, first_column = first_column_of<T, count>(me);
  std::byte* const corner = tile + first_row * block_row_bytes + tile_bytes(T::keys, first_column);
  const std::uint32_t start = shared_address(corner) + swizzled(me.lane % 16, me.lane / 16);
#pragma unroll
  for (int i = 0; i < count / 8; ++i) {
    std::uint32_t packed[4];
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      packed[j] = pack<typename T::Element>(gradient[8 * i + 2 * j] * scale,
                                            gradient[8 * i + 2 * j + 1] * scale);
    }
    store_matrices((start ^ i * 2 % 8 * 16) + i * 2 / 8 * T::keys * block_row_bytes, packed);
  }
  show_shared_writes();
  __syncwarp();
  place.row += first_row;
  if (me.lane == 0) {
#pragma unroll
    for (int block = 0; block < blocks_of_head(2 * count); ++block) {
      place.column = first_column + block * block_columns;
      store_box(map, place, corner + block * T::keys * block_row_bytes);
    }
    end_stores();
  }
}

// Of what a warp has written: its places may be filled again.
__device__ inline void end_writing(std::uint64_t& empty, const Consumer& me) {
  if (me.lane == 0) {
    wait_for_reads();
    arrive(empty);
  }
  __syncwarp();
}

// The gradients of a tile of keys leave: through its values' place, which is the warpgroup's own,
// or where that is wanted for the next tile's, dV through its keys and dK through the slopes.
template <class T>
__device__ __forceinline__ void leave(const float (&dk)[T::head / 2],
                                      const float (&dv)[T::head / 2],
                                      const BackwardArguments& arguments, BackwardShared<T>& shared,
                                      unsigned stage, const KeyWork& work, const Consumer& me) {
  const Place place = {0, work.tile * T::keys, work.head, work.batch};
  const float scale = arguments.shape.natural_scale;
  if constexpr (T::carries_sums) {
    std::byte* const values = shared.values[stage];
    write_gradient<T>(dv, 1, arguments.dv, values, place, me);
    if (me.lane == 0) wait_for_reads();
    __syncwarp();
    write_gradient<T>(dk, scale, arguments.dk, values, place, me);
  } else {
    write_gradient<T>(dv, 1, arguments.dv, shared.keys[stage], place, me);
    write_gradient<T>(dk, scale, arguments.dk, shared.slopes[0], place, me);
  }
}

}  // namespace assay::flash
