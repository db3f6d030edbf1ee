#pragma once

#include "instructions.cuh"
#include "tile.cuh"

namespace assay::flash {

// Where a thread stands among the consumers.
struct Consumer {
  int group;  // warpgroup
  int warp;   // of all consumers
  int lane;
  int row;     // of the tile: the upper of its two, the other is 8 below
  int column;  // the first of its two in every eight
};

__device__ inline Consumer consumer_of(int thread) {
  Consumer me;
  me.lane = thread % warp;
  me.warp = __shfl_sync(~0u, thread / warp, 0);
  me.group = me.warp / 4;
  me.row = me.warp * 16 + me.lane / 4;
  me.column = me.lane % 4 * 2;
  return me;
}

// A warp's own value, read from its first lane: the compiler then computes what follows from it
// once a warp, in uniform registers, from which wgmma takes its operands' addresses.
__device__ inline int4 uniform(int4 value) {
  return {__shfl_sync(~0u, value.x, 0), __shfl_sync(~0u, value.y, 0), __shfl_sync(~0u, value.z, 0),
          __shfl_sync(~0u, value.w, 0)};
}

// One arrival a warp: each waits for its own part of a product.
__device__ inline void release(std::uint64_t& empty, const Consumer& me) {
  if (me.lane == 0) arrive(empty);
}

}  // namespace assay::flash
