#pragma once

#include "attention/flash/backward/tile.cuh"

// How the backward of heads above 128 cuts its work. A block of threads keeps a tile of 64 keys.
// Its two warpgroups share a block's queries in weights and slopes, and the head's columns in the
// sums behind them: dK and dV of all columns would be more than a thread's registers.
namespace assay::flash {

template <class Element_>
struct WideTile : BackwardRoles {
  using Element = Element_;
  static constexpr int head = 256;  // columns that are computed
  static constexpr int planes = 1;
  static constexpr int loaded_head = head;
  static constexpr int keys = group_rows;
  static constexpr int rows = group_rows;  // queries of a block
  static constexpr int group_queries = rows / groups;
  static constexpr int stages = 2;           // blocks of queries in flight
  static constexpr bool persistent = false;  // nothing is left of shared memory for the next tile

  static constexpr int key_bytes = tile_bytes(keys, head);
  static constexpr int query_bytes = tile_bytes(rows, head);
  static constexpr int slope_bytes = tile_bytes(keys, rows);  // Pᵀ and dSᵀ [keys, rows]
  static constexpr int number_bytes = rows * 4;               // a number for each query

  // Of dQ [rows, head], and of dK and dV, each warpgroup has half of the columns.
  static constexpr bool sums_by_rows = false;
  static constexpr int first_columns = head / groups;

  static constexpr int key_warps = warpgroup / warp;  // that divide a tile's keys

  static_assert(first_columns % block_columns == 0);
  static_assert(keys == rows, "a warpgroup's columns begin at one place of keys and of queries");
};

// Whoever writes weights has seen all slopes of the block before, and whoever writes slopes all
// weights of their block: nobody then multiplies with those of the block before the last.
inline constexpr int exchange_stages = 2;

template <class T>
struct WideShared {
  // [keys, head]; dK leaves through the keys, dV through the values.
  alignas(swizzle_bytes) std::byte keys[1][T::key_bytes];
  alignas(swizzle_bytes) std::byte values[1][T::key_bytes];
  alignas(swizzle_bytes) std::byte queries[T::stages][T::query_bytes];
  alignas(swizzle_bytes) std::byte douts[T::stages][T::query_bytes];
  alignas(swizzle_bytes) std::byte weights[exchange_stages][T::slope_bytes];
  alignas(swizzle_bytes) std::byte slopes[exchange_stages][T::slope_bytes];
  alignas(16) float lse[T::stages][T::rows];
  alignas(16) float minus_dot[T::stages][T::rows];
  std::uint64_t keys_full[1], values_full[1];
  std::uint64_t queries_full[T::stages], queries_empty[T::stages];
  std::uint64_t douts_full[T::stages], douts_empty[T::stages];
  std::uint64_t weights_full, slopes_full;  // by every consumer warp
};

}  // namespace assay::flash
