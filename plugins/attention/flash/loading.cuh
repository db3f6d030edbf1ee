#pragma once

#include "instructions.cuh"
#include "operand.cuh"
#include "tile.cuh"

// What a producer does: it takes work, announces it, and fills buffers.
namespace assay::flash {

// The item after `number` of this block of threads.
__device__ inline int next_item(unsigned* taken, int number) {
  const int grid = static_cast<int>(gridDim.x);
  if (taken == nullptr) return number + grid;
  return grid + static_cast<int>(atomicAdd(taken, 1u));
}

// [rows, head] of a head from row `place.row` on, one box for each block of 64 columns. Rows and
// columns beyond the tensor come as zeros, which count as bytes.
template <int rows, int head>
__device__ inline void load_tile(std::byte* to, const CUtensorMap& map, Place place,
                                 std::uint64_t& full, Keep keep) {
  arrive_and_expect(full, tile_bytes(rows, head));
#pragma unroll
  for (int block = 0; block < blocks_of_head(head); ++block) {
    place.column = block * block_columns;
    load_box(to + block * rows * block_row_bytes, map, place, full, keep);
  }
}

// Waits until the consumers have emptied a buffer of a ring, then fills it.
template <int rows, int head, int stages, class Buffer>
__device__ inline void refill(Buffer (&buffers)[stages], std::uint64_t (&full)[stages],
                              std::uint64_t (&empty)[stages], unsigned count,
                              const CUtensorMap& map, Place place, Keep keep) {
  const Turn<stages> turn(count);
  wait(empty[turn.stage], turn.parity ^ 1);
  load_tile<rows, head>(buffers[turn.stage], map, place, full[turn.stage], keep);
}

// Work number `count`, for the consumers.
template <class Shared>
__device__ inline void announce(Shared& shared, unsigned count, int4 work) {
  const Turn<2> turn(count);
  wait(shared.work_empty[turn.stage], turn.parity ^ 1);
  shared.work[turn.stage] = work;
  arrive(shared.work_full[turn.stage]);
}

}  // namespace assay::flash
