#pragma once

#include "attention/flash/producer.cuh"
#include "attention/flash/schedule.cuh"
#include "problem.h"
#include "schedule.cuh"
#include "tile.cuh"

// One thread loads tiles of keys and values, and the blocks of queries that see them.
namespace assay::flash {

template <class T, class Shared>
__device__ inline void init_load_barriers(Shared& shared) {
  for (auto& barrier : shared.keys_full) init_barrier(barrier, 1);
  init_barrier(shared.values_full, 1);
  for (int stage = 0; stage < T::stages; ++stage) {
    init_barrier(shared.queries_full[stage], 1);
    init_barrier(shared.douts_full[stage], 1);
    init_barrier(shared.queries_empty[stage], T::consumer_warps);
    init_barrier(shared.douts_empty[stage], T::consumer_warps);
  }
}

__device__ inline void prefetch_maps(const BackwardArguments& arguments) {
  prefetch_map(arguments.q);
  prefetch_map(arguments.k);
  prefetch_map(arguments.v);
  prefetch_map(arguments.dout);
}

// A block of queries [rows, head], once the consumers have emptied the buffer; `more` bytes come
// with it.
template <class T>
__device__ inline void refill_rows(std::byte* tile, std::uint64_t& full, std::uint64_t& empty,
                                   int parity, const CUtensorMap& map, Place place, int more = 0) {
  wait_for_consumers(empty, parity ^ 1);
  arrive_and_expect(full, T::query_bytes + more);
#pragma unroll
  for (int block = 0; block < blocks_of_head(T::loaded_head); ++block) {
    place.column = block * block_columns;
    load_box(tile + block * T::rows * block_row_bytes, map, place, full, Keep::last_out);
  }
}

template <class T, class Shared>
__device__ inline void load_keys(const BackwardArguments& arguments, Shared& shared,
                                 const KeyWork& work, unsigned tiles) {
  const Turn<T::key_stages> turn(tiles);
  if constexpr (T::persistent) wait_for_consumers(shared.keys_empty[turn.stage], turn.parity ^ 1);
  load_tile<T::keys, T::loaded_head>(shared.keys[turn.stage], arguments.k,
                                     {0, work.tile * T::keys, work.head, work.batch},
                                     shared.keys_full[turn.stage], Keep::first_out);
}

template <class T, class Shared>
__device__ inline void load_values(const BackwardArguments& arguments, Shared& shared,
                                   const KeyWork& work, unsigned tiles) {
  if constexpr (T::persistent) wait_for_consumers(shared.values_empty, Turn<1>(tiles).parity ^ 1);
  load_tile<T::keys, T::loaded_head>(shared.values, arguments.v,
                                     {0, work.tile * T::keys, work.head, work.batch},
                                     shared.values_full, Keep::first_out);
}

// `tiles` and `count`: of tiles and of blocks of queries loaded so far.
template <class T, class Shared>
__device__ inline void load_work(const BackwardArguments& arguments, Shared& shared,
                                 const KeyWork& work, unsigned tiles, unsigned& count) {
  const Shape& shape = arguments.shape;
  load_keys<T>(arguments, shared, work, tiles);
  // Which writes log-sum-exps and −D, and zeros for the sums.
  if (tiles == 0) wait_for_kernel_before();
  bool first = true;
  query_blocks_of<T>(arguments, work).for_each([&](int head, int block) {
    const Turn<T::stages> turn(count);
    const Place place = {0, block * T::rows, head - work.batch * shape.heads, work.batch};
    const std::int64_t row = (std::int64_t{head} * arguments.query_blocks + block) * T::rows;
    const auto refill_douts = [&] {
      refill_rows<T>(shared.douts[turn.stage], shared.douts_full[turn.stage],
                     shared.douts_empty[turn.stage], turn.parity, arguments.dout, place);
    };
    // The first scores need queries and no values. With one stage dO is free ahead of the queries
    // from then on.
    const bool douts_first = T::stages == 1 && !first;
    if (douts_first) refill_douts();
    std::uint64_t& full = shared.queries_full[turn.stage];
    refill_rows<T>(shared.queries[turn.stage], full, shared.queries_empty[turn.stage], turn.parity,
                   arguments.q, place, 2 * T::number_bytes);
    load_bytes(shared.lse[turn.stage], arguments.lse + row, T::number_bytes, full);
    load_bytes(shared.minus_dot[turn.stage], arguments.minus_dot + row, T::number_bytes, full);
    if (!douts_first) refill_douts();
    if (first) load_values<T>(arguments, shared, work, tiles);
    first = false;
    ++count;
  });
  // Each tile fills the values' place, also one that no query sees.
  if (T::persistent && first) load_values<T>(arguments, shared, work, tiles);
}

template <class T>
__device__ void produce_tiles(const BackwardArguments& arguments, BackwardShared<T>& shared) {
  unsigned tiles = 0, count = 0;
  int number = static_cast<int>(blockIdx.x);
  while (number < arguments.items) {
    const KeyWork work = key_work_at(arguments, number);
    announce(shared, tiles, {work.tile, work.head, work.batch, work.part});
    load_work<T>(arguments, shared, work, tiles, count);
    ++tiles;
    number = next_item(arguments.taken, number);
  }
  announce(shared, tiles, {-1, 0, 0, 0});
#ifdef ASSAY_FLASH_MOST_TRIES
  wait_for_consumers(shared.work_empty[Turn<2>(tiles).stage], Turn<2>(tiles).parity);
#endif
}

}  // namespace assay::flash
