#pragma once

#include "attention/flash/tile.cuh"

// How the backward kernel cuts its work. A block of threads keeps a tile of keys, 64 a warpgroup,
// and goes through the blocks of queries that see them.
namespace assay::flash {

// The warpgroups of a block of threads.
struct BackwardRoles {
  static constexpr int groups = 2;  // that compute, behind the producer's
  static constexpr int consumer_warps = groups * warpgroup / warp;
  static constexpr int threads = (groups + 1) * warpgroup;
  static constexpr int producer_registers = 24;
  static constexpr int consumer_registers = 240;
  // Warpgroups take from each other what the block begins with: 168 a thread.
  static_assert(producer_registers + groups * consumer_registers <= 168 * (groups + 1));
};

// A warpgroup may write slopes while the other still reads those of the block before the last.
inline constexpr int slope_stages = 3;

template <class Element_, int head_, int rows_>
struct BackwardTile : BackwardRoles {
  using Element = Element_;
  static constexpr int head = head_;  // columns that are computed
  static constexpr int planes = 1;
  static constexpr int loaded_head = head;
  static constexpr int rows = rows_;                // queries of a block
  static constexpr int keys = groups * group_rows;  // of a tile
  // A block of threads takes one tile after the other: the next one's keys are loaded while this
  // one is computed, and its values once this one's are no longer wanted.
  static constexpr bool persistent = true;
  static constexpr int key_stages = 2;
  // Where shared memory holds the next tile's values, too, a tile's last sums of dQ are computed
  // beneath the next one's first weights.
  static constexpr bool carries_sums = head <= 64;
  // Each stage of keys has code of its own, in which their addresses are constants. Heads of 64
  // would spill registers without; those above are up to 3 % slower with.
  static constexpr bool names_stages = head <= 64;
  static constexpr int value_stages = carries_sums ? 2 : 1;
  static constexpr int stages = 2;  // blocks of queries in flight
  // A warpgroup starts a block's scores when the other has started its sums over keys: while one
  // computes weights the other multiplies. Heads of 128, whose products take longer, keep apart
  // without, and are 7 % slower with.
  static constexpr bool takes_turns = head <= 96;
  // dP is added to −D, read ahead of all products; where 128 queries' leave no time for that, D is
  // subtracted afterwards.
  static constexpr bool starts_from_dot = rows < keys;

  static constexpr int key_bytes = tile_bytes(keys, head);
  static constexpr int query_bytes = tile_bytes(rows, head);
  static constexpr int slope_bytes = tile_bytes(keys, rows);  // dSᵀ [keys, rows]
  static constexpr int number_bytes = rows * 4;               // a number for each query

  // dQ [rows, head] is shared among the warpgroups: with 128 rows each has 64, with 64 rows the
  // first has 64 columns and the other the rest.
  static constexpr bool sums_by_rows = rows == keys;
  static constexpr int first_columns = sums_by_rows ? head : block_columns;
  static constexpr int rest_columns = sums_by_rows ? head : head - block_columns;

  static constexpr int key_warps = consumer_warps;  // that end with sums of dK and dV

  static_assert(head % 16 == 0 && head <= 128);
  static_assert(rows == group_rows || rows == keys);
  static_assert(sums_by_rows || head > block_columns);
  static_assert(slope_stages * slope_bytes >= key_bytes, "dK leaves through the slopes");
};

template <class T>
struct BackwardShared {
  // [keys, head]; dV leaves through its tile's keys, dK through the slopes, or both through the
  // values.
  alignas(swizzle_bytes) std::byte keys[T::key_stages][T::key_bytes];
  alignas(swizzle_bytes) std::byte values[T::value_stages][T::key_bytes];
  alignas(swizzle_bytes) std::byte queries[T::stages][T::query_bytes];
  alignas(swizzle_bytes) std::byte douts[T::stages][T::query_bytes];
  alignas(swizzle_bytes) std::byte slopes[slope_stages][T::slope_bytes];
  alignas(16) float lse[T::stages][T::rows];
  alignas(16) float minus_dot[T::stages][T::rows];
  std::uint64_t keys_full[T::key_stages], keys_empty[T::key_stages];
  std::uint64_t values_full[T::value_stages], values_empty[T::value_stages];
  std::uint64_t work_full[2], work_empty[2], queries_loaded;
  int4 work[2];
  // Filled by a producer, emptied by every consumer warp. A query's lse and D come with its q.
  std::uint64_t queries_full[T::stages], queries_empty[T::stages];
  std::uint64_t douts_full[T::stages], douts_empty[T::stages];
  std::uint64_t slopes_full[slope_stages];  // filled by every consumer warp
};

template <class T>
inline constexpr int backward_shared_bytes = sizeof(BackwardShared<T>);

}  // namespace assay::flash
