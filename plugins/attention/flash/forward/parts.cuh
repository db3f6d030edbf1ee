#pragma once

#include "attention/flash/problem.h"
#include "attention/flash/softmax.cuh"
#include "attention/flash/threads.cuh"

// Tiles whose keys are shared among blocks of threads.
namespace assay::flash {

// Of one part: a thread's output [head / 2] and its softmax, four numbers after four, those of the
// lanes of a warp side by side.
template <class T>
__device__ inline float4* part_of_warp(const Parts& parts, int tile, int part, const Consumer& me) {
  constexpr int fours = T::head / 8 + 1;
  const std::int64_t number =
      (std::int64_t{tile} * parts.count + part) * T::consumer_warps + me.warp;
  return reinterpret_cast<float4*>(parts.partial) + number * fours * warp + me.lane;
}

template <class T>
__device__ __forceinline__ void keep_part(const float (&output)[T::head / 2],
                                          const Softmax& softmax, const Parts& parts, int tile,
                                          int part, const Consumer& me) {
  float4* const mine = part_of_warp<T>(parts, tile, part, me);
#pragma unroll
  for (int i = 0; i < T::head / 8; ++i) {
    __stcg(mine + i * warp,
           make_float4(output[4 * i], output[4 * i + 1], output[4 * i + 2], output[4 * i + 3]));
  }
  __stcg(mine + T::head / 8 * warp,
         make_float4(softmax.most[0], softmax.most[1], softmax.sum[0], softmax.sum[1]));
}

// Adds up the `count` parts that have been kept, in their order.
template <class T>
__device__ __forceinline__ void join_parts(float (&output)[T::head / 2], Softmax& softmax,
                                           const Scale& scale, const Parts& parts, int tile,
                                           int count, const Consumer& me) {
  softmax = Softmax(scale);
#pragma unroll
  for (float& element : output) element = 0;
  for (int i = 0; i < count; ++i) {
    const float4* const theirs = part_of_warp<T>(parts, tile, i, me);
    const float4 last = __ldcg(theirs + T::head / 8 * warp);
    const auto [kept, added] = softmax.join({{last.x, last.y}, {last.z, last.w}}, scale);
#pragma unroll
    for (int j = 0; j < T::head / 8; ++j) {
      const float4 more = __ldcg(theirs + j * warp);
      output[4 * j] = output[4 * j] * kept.x + more.x * added.x;
      output[4 * j + 1] = output[4 * j + 1] * kept.x + more.y * added.x;
      output[4 * j + 2] = output[4 * j + 2] * kept.y + more.z * added.y;
      output[4 * j + 3] = output[4 * j + 3] * kept.y + more.w * added.y;
    }
  }
}

// Keeps a warp's part of a tile. The warp that brings the last of `count` parts gets true and the
// sum of all, whichever came last; the others are done.
template <class T>
__device__ __forceinline__ bool add_up(float (&output)[T::head / 2], Softmax& softmax,
                                       const Scale& scale, const Parts& parts, int tile, int part,
                                       int count, const Consumer& me) {
  keep_part<T>(output, softmax, parts, tile, part, me);
  __threadfence();
  __syncwarp();
  unsigned before = 0;
  if (me.lane == 0) before = atomicAdd(parts.finished + tile * T::consumer_warps + me.warp, 1u);
  if (__shfl_sync(~0u, before, 0) + 1 != static_cast<unsigned>(count)) return false;
  __threadfence();
  join_parts<T>(output, softmax, scale, parts, tile, count, me);
  return true;
}

// The same for a cluster, whose first block of threads gets the sum. All of it come here; who is
// beyond the last part keeps nothing.
template <class T>
__device__ __forceinline__ bool add_up_together(float (&output)[T::head / 2], Softmax& softmax,
                                                const Scale& scale, const Parts& parts, int tile,
                                                int part, int count, const Consumer& me) {
  if (count <= 1) return part == 0;
  if (part < count) keep_part<T>(output, softmax, parts, tile, part, me);
  meet_cluster();
  if (part > 0) return false;
  join_parts<T>(output, softmax, scale, parts, tile, count, me);
  return true;
}

}  // namespace assay::flash
