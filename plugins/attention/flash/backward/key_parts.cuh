#pragma once

#include "attention/flash/threads.cuh"
#include "problem.h"
#include "schedule.cuh"

// Tiles of keys whose queries are shared among blocks of threads: each keeps its part of dK and dV,
// and the kernel behind adds them up.
namespace assay::flash {

// Of 16 keys, which a warp has, or two by columns. A thread's dK, and dV, lie four numbers after
// four, those of the lanes of a warp side by side: so that eight columns of dK, then of dV, are 32
// fours.
__host__ __device__ inline std::int64_t fours_of_part(int head) {
  return std::int64_t{head} / 4 * warp;
}

// Where warp number `key_warp` of part `part` of a tile begins, in fours.
__host__ __device__ inline std::int64_t start_of_part(const KeyParts& parts, int tile, int part,
                                                      int key_warps, int key_warp, int head) {
  const std::int64_t number = (std::int64_t{tile} * parts.count + part) * key_warps + key_warp;
  return number * fours_of_part(head);
}

// Which 16 keys of a tile a warp has of dK and dV.
template <class T>
__device__ __forceinline__ int key_warp_of(const Consumer& me) {
  return T::key_warps < T::consumer_warps ? me.warp % T::key_warps : me.warp;
}

// And from which column on it has 2 · count of the head's.
template <class T, int count>
__device__ __forceinline__ int first_column_of(const Consumer& me) {
  return 2 * count < T::head ? me.group * 2 * count : 0;
}

template <class T, int count>
__device__ __forceinline__ void keep_key_part(const float (&dk)[count], const float (&dv)[count],
                                              const KeyParts& parts, int tile, int part,
                                              const Consumer& me) {
  constexpr int fours = T::head / 8;  // of dK, and of dV
  float4* const mine = reinterpret_cast<float4*>(parts.partial) +
                       start_of_part(parts, tile, part, T::key_warps, key_warp_of<T>(me), T::head) +
                       first_column_of<T, count>(me) / 8 * warp + me.lane;
#pragma unroll
  for (int i = 0; i < count / 4; ++i) {
    __stcg(mine + i * warp, make_float4(dk[4 * i], dk[4 * i + 1], dk[4 * i + 2], dk[4 * i + 3]));
    __stcg(mine + (fours + i) * warp,
           make_float4(dv[4 * i], dv[4 * i + 1], dv[4 * i + 2], dv[4 * i + 3]));
  }
}

// Keeps the gradients of a tile that is in parts. Whether they are the whole tile's instead.
template <class T, int count>
__device__ __forceinline__ bool is_whole(const float (&dk)[count], const float (&dv)[count],
                                         const BackwardArguments& arguments, const KeyWork& work,
                                         const Consumer& me) {
  if (work.tile >= arguments.parts.tiles_with[1]) return true;
  const int tile =
      (work.batch * arguments.shape.kv_heads + work.head) * arguments.key_tiles + work.tile;
  keep_key_part<T>(dk, dv, arguments.parts, tile, work.part, me);
  return false;
}

}  // namespace assay::flash
