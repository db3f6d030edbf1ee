#pragma once

#include "attention/flash/instructions.cuh"
#include "attention/flash/threads.cuh"
#include "problem.h"
#include "tile.cuh"

// dQ is a sum over tiles of keys, which different blocks of threads hold: it comes together in fp32
// in global memory, and a last kernel scales and converts it (rows.cu).
//
// The buffer is [batch, heads, blocks of 64 queries, 4 warps, head / 8, 32 lanes, 4]: what a lane
// has of wgmma's accumulator for eight columns are its four numbers (rows g and g + 8, columns 2t
// and 2t + 1), so that a warp adds 512 bytes at a time.
namespace assay::flash {

__host__ __device__ constexpr std::int64_t floats_of_sums(int head) {  // of 64 queries
  return std::int64_t{group_rows} * head;
}

// Where this lane adds its part. Blocks of queries have their number among all heads' and batches'.
template <class T>
__device__ inline float* my_sums(const BackwardArguments& arguments, int block,
                                 const Consumer& me) {
  constexpr int warp_floats = floats_of_sums(T::head) / 4;
  const std::int64_t row_block =
      T::sums_by_rows ? std::int64_t{block} * T::groups + me.group : block;
  const int first_columns = T::sums_by_rows ? 0 : me.group * T::first_columns;
  return arguments.query_sums + row_block * floats_of_sums(T::head) + me.warp % 4 * warp_floats +
         first_columns * 16 + me.lane * 4;
}

// Tiles of keys add to a block of queries in turns, the last keys first: of two tiles that begin
// together under a causal mask the one with the later keys reaches a block first. Blocks of threads
// are taken to start in the order of their numbers, in which those waited for come first.
template <class T>
__device__ inline unsigned* wait_for_turn(const BackwardArguments& arguments, int block,
                                          const int& key_tile, const Consumer& me) {
  unsigned* const turn = arguments.turns + std::int64_t{block} * T::consumer_warps + me.warp;
  const BlockRange tiles =
      seen_blocks(arguments.shape, block % arguments.query_blocks * T::rows, T::rows, T::keys);
  const auto mine = static_cast<unsigned>(tiles.end - 1 - key_tile);
  while (look_at(turn) != mine) {
  }
  return turn;
}

// sums [64, 2 · count]: a warpgroup's part of a block's dQ. Adds it to what is there. The tile of
// keys is read where it is wanted, in turns alone: registers are scarce.
template <class T, int count>
__device__ __forceinline__ void add_sums(const float (&sums)[count],
                                         const BackwardArguments& arguments, int block,
                                         const int& key_tile, const Consumer& me) {
  float* const to = my_sums<T>(arguments, block, me);
  const auto four = [&](int i) {
    return make_float4(sums[4 * i], sums[4 * i + 1], sums[4 * i + 2], sums[4 * i + 3]);
  };
  const auto add = [&] {
#pragma unroll
    for (int i = 0; i < count / 4; ++i) add_global(to + i * warp * 4, four(i));
  };
  if (arguments.turns == nullptr) {
    add();
    return;
  }
  unsigned* const turn = wait_for_turn<T>(arguments, block, key_tile, me);
  add();
  __syncwarp();
  if (me.lane == 0) move_on(turn);
}

}  // namespace assay::flash
