#pragma once

#include "attention/flash/threads.cuh"
#include "problem.h"
#include "tile.cuh"

// Tiles of keys whose queries are shared among blocks of threads.
namespace assay::flash {

// Of one part: a thread's dK and dV [2, head / 2], four numbers after four, those of the lanes of a
// warp side by side.
template <class T>
__device__ inline float4* key_part_of_warp(const KeyParts& parts, int tile, int part,
                                           const Consumer& me) {
  constexpr int fours = T::head / 4;
  const std::int64_t number = (std::int64_t{tile} * parts.count + part) * T::key_warps + me.warp;
  return reinterpret_cast<float4*>(parts.partial) + number * fours * warp + me.lane;
}

// Keeps a warp's part of a tile. The warp that brings the last of `count` parts gets true and the
// sum of all, added in their order whichever came last; the others are done.
template <class T>
__device__ __forceinline__ bool add_up_keys(float (&dk)[T::head / 2], float (&dv)[T::head / 2],
                                            const KeyParts& parts, int tile, int part, int count,
                                            const Consumer& me) {
  constexpr int fours = T::head / 8;  // of dK, and of dV
  float4* const mine = key_part_of_warp<T>(parts, tile, part, me);
#pragma unroll
  for (int i = 0; i < fours; ++i) {
    __stcg(mine + i * warp, make_float4(dk[4 * i], dk[4 * i + 1], dk[4 * i + 2], dk[4 * i + 3]));
    __stcg(mine + (fours + i) * warp,
           make_float4(dv[4 * i], dv[4 * i + 1], dv[4 * i + 2], dv[4 * i + 3]));
  }
  __threadfence();
  __syncwarp();
  unsigned before = 0;
  if (me.lane == 0) before = atomicAdd(parts.finished + tile * T::key_warps + me.warp, 1u);
  if (__shfl_sync(~0u, before, 0) + 1 != static_cast<unsigned>(count)) return false;
  __threadfence();

#pragma unroll
  for (int i = 0; i < T::head / 2; ++i) dk[i] = dv[i] = 0;
  const auto add = [](float* to, float4 more) {
    to[0] += more.x;
    to[1] += more.y;
    to[2] += more.z;
    to[3] += more.w;
  };
  for (int i = 0; i < count; ++i) {
    const float4* const theirs = key_part_of_warp<T>(parts, tile, i, me);
#pragma unroll
    for (int j = 0; j < fours; ++j) {
      add(dk + 4 * j, __ldcg(theirs + j * warp));
      add(dv + 4 * j, __ldcg(theirs + (fours + j) * warp));
    }
  }
  return true;
}

}  // namespace assay::flash
