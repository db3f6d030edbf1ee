#pragma once

#include "attention/flash/backward/tile.cuh"
#include "planes.h"

// How the backward of fp32 cuts its work. K and V in three planes leave room for a tile of 64 keys,
// which a block of threads keeps; each of its two warpgroups takes half of the queries of a block.
namespace assay::flash {

template <int head_>
struct PlaneTile : BackwardRoles {
  using Element = __nv_bfloat16;
  static constexpr int head = head_;  // columns that are computed
  static constexpr int planes = planes_of_fp32;
  static constexpr int keys = group_rows;
  static constexpr int rows = group_rows;  // queries of a block
  static constexpr int group_queries = rows / groups;
  static constexpr int stages = head <= 64 ? 2 : 1;  // blocks of queries in flight
  static constexpr bool persistent = false;  // nothing is left of shared memory for the next tile

  static constexpr int blocks = blocks_of_head(head);
  static constexpr int loaded_head = planes * blocks * block_columns;
  static constexpr int plane_bytes = tile_bytes(keys, head);
  static constexpr int key_bytes = planes * plane_bytes;
  static constexpr int query_bytes = tile_bytes(rows, loaded_head);
  static constexpr int slope_plane_bytes = tile_bytes(keys, rows);  // dSᵀ [keys, rows]
  static constexpr int number_bytes = rows * 4;                     // a number for each query

  // Of dQ [rows, head] each warpgroup has half of the columns.
  static constexpr bool sums_by_rows = false;
  static constexpr int first_columns = head / 2;

  static constexpr int key_warps = warpgroup / warp;  // that end with sums of dK and dV

  static_assert(head == 64 || head == 128);
  static_assert(keys == rows, "planes of keys and of queries are of one size");
};

template <class T>
struct PlaneShared {
  // [keys, head] in planes; in the end what the second warpgroup has of dK and dV.
  alignas(swizzle_bytes) std::byte keys[1][T::key_bytes];
  alignas(swizzle_bytes) std::byte values[1][T::key_bytes];
  alignas(swizzle_bytes) std::byte queries[T::stages][T::query_bytes];
  alignas(swizzle_bytes) std::byte douts[T::stages][T::query_bytes];
  alignas(swizzle_bytes) std::byte slopes[T::planes][T::slope_plane_bytes];
  alignas(16) float lse[T::stages][T::rows];
  alignas(16) float minus_dot[T::stages][T::rows];
  std::uint64_t keys_full[1], values_full[1];
  std::uint64_t queries_full[T::stages], queries_empty[T::stages];
  std::uint64_t douts_full[T::stages], douts_empty[T::stages];
  std::uint64_t slopes_full, slopes_empty;  // by every consumer warp
};

}  // namespace assay::flash
