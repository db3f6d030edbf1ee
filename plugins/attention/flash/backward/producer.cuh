#pragma once

#include "attention/flash/loading.cuh"
#include "problem.h"
#include "schedule.cuh"
#include "tile.cuh"

// One thread loads tiles of keys and values, another the blocks of queries that see them: what both
// would hold is more than a producer's registers.
namespace assay::flash {

template <class T, class Shared>
__device__ inline void init_load_barriers(Shared& shared) {
  for (auto& barrier : shared.keys_full) init_barrier(barrier, 1);
  for (auto& barrier : shared.values_full) init_barrier(barrier, 1);
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
  wait(empty, parity ^ 1);
  arrive_and_expect(full, T::query_bytes + more);
#pragma unroll
  for (int block = 0; block < blocks_of_head(T::loaded_head); ++block) {
    place.column = block * block_columns;
    load_box(tile + block * T::rows * block_row_bytes, map, place, full, Keep::last_out);
  }
}

__device__ inline Place place_of_keys(const KeyWork& work, int keys) {
  return {0, work.tile * keys, work.head, work.batch};
}

// The blocks of queries that see a tile of keys, `count` blocks after the first.
template <class T, class Shared>
__device__ inline void load_queries(const BackwardArguments& arguments, Shared& shared,
                                    const KeyWork& work, unsigned& count) {
  const Shape& shape = arguments.shape;
  bool first = true;
  query_blocks_of<T>(arguments, work).for_each([&](int head, int block) {
    const Turn<T::stages> turn(count);
    const Place place = {0, block * T::rows, head - work.batch * shape.heads, work.batch};
    const std::int64_t row = (std::int64_t{head} * arguments.query_blocks + block) * T::rows;
    const auto refill_douts = [&] {
      refill_rows<T>(shared.douts[turn.stage], shared.douts_full[turn.stage],
                     shared.douts_empty[turn.stage], turn.parity, arguments.dout, place);
    };
    // With one stage dO is free ahead of the queries from the second block on.
    const bool douts_first = T::stages == 1 && !first;
    if (douts_first) refill_douts();
    std::uint64_t& full = shared.queries_full[turn.stage];
    refill_rows<T>(shared.queries[turn.stage], full, shared.queries_empty[turn.stage], turn.parity,
                   arguments.q, place, 2 * T::number_bytes);
    load_bytes(shared.lse[turn.stage], arguments.lse + row, T::number_bytes, full);
    load_bytes(shared.minus_dot[turn.stage], arguments.minus_dot + row, T::number_bytes, full);
    if (!douts_first) refill_douts();
    first = false;
    ++count;
  });
}

template <class T>
__device__ void produce_keys(const BackwardArguments& arguments, BackwardShared<T>& shared) {
  unsigned tiles = 0;
  int number = static_cast<int>(blockIdx.x);
  for (; number < arguments.items; number = next_item(arguments.taken, number)) {
    KeyWork work = key_work_at(arguments, number);
    if (query_blocks_of<T>(arguments, work).total == 0) work.part = nothing_seen;
    announce(shared, tiles, {work.tile, work.head, work.batch, work.part});
    const Place place = place_of_keys(work, T::keys);
    refill<T::keys, T::loaded_head>(shared.keys, shared.keys_full, shared.keys_empty, tiles,
                                    arguments.k, place, Keep::first_out);
    refill<T::keys, T::loaded_head>(shared.values, shared.values_full, shared.values_empty, tiles,
                                    arguments.v, place, Keep::first_out);
    // Work is taken as late as the loads allow, so that who is done first takes the next; and the
    // counter is 0 once the other thread has waited for the kernel before.
    wait(shared.queries_loaded, Turn<1>(tiles).parity);
    ++tiles;
  }
  announce(shared, tiles, {-1, 0, 0, nothing_seen});
}

template <class T>
__device__ void produce_queries(const BackwardArguments& arguments, BackwardShared<T>& shared) {
  // Which writes log-sum-exps and −D, and zeros for the sums.
  wait_for_kernel_before();
  for (unsigned tiles = 0, count = 0;; ++tiles) {
    const Turn<2> announced(tiles);
    wait(shared.work_full[announced.stage], announced.parity);
    const int4 work = shared.work[announced.stage];
    arrive(shared.work_empty[announced.stage]);
    if (work.x < 0) return;
    load_queries<T>(arguments, shared, {work.x, work.y, work.z, work.w}, count);
    arrive(shared.queries_loaded);
  }
}

}  // namespace assay::flash
