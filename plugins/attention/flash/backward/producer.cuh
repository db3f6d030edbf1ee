#pragma once

#include "attention/flash/producer.cuh"
#include "problem.h"
#include "schedule.cuh"
#include "tile.cuh"

// One thread loads a tile of keys and values, then the blocks of queries that see them.
namespace assay::flash {

template <class T, class Shared>
__device__ inline void init_load_barriers(Shared& shared) {
  init_barrier(shared.keys_full, 1);
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
__device__ void produce_backward(const BackwardArguments& arguments, Shared& shared,
                                 const KeyWork& work, const QueryBlocks& blocks) {
  const Shape& shape = arguments.shape;
  const Place keys = {0, work.tile * T::keys, work.head, work.batch};
  load_tile<T::keys, T::loaded_head>(shared.keys, arguments.k, keys, shared.keys_full,
                                     Keep::first_out);
  wait_for_kernel_before();  // which writes log-sum-exps and −D, and zeros for the sums
  unsigned count = 0;
  blocks.for_each([&](int head_of_group, int block) {
    const int head = T::divides_heads_once
                         ? head_of_group
                         : work.head * (shape.heads / shape.kv_heads) + head_of_group;
    const Turn<T::stages> turn(count);
    const Place place = {0, block * T::rows, head, work.batch};
    const std::int64_t row =
        ((std::int64_t{work.batch} * shape.heads + head) * arguments.query_blocks + block) *
        T::rows;
    const auto refill_douts = [&] {
      refill_rows<T>(shared.douts[turn.stage], shared.douts_full[turn.stage],
                     shared.douts_empty[turn.stage], turn.parity, arguments.dout, place);
    };
    // The first scores need queries and no values. With one stage dO is free ahead of the queries
    // from then on.
    const bool douts_first = T::stages == 1 && count > 0;
    if (douts_first) refill_douts();
    std::uint64_t& full = shared.queries_full[turn.stage];
    refill_rows<T>(shared.queries[turn.stage], full, shared.queries_empty[turn.stage], turn.parity,
                   arguments.q, place, 2 * T::number_bytes);
    load_bytes(shared.lse[turn.stage], arguments.lse + row, T::number_bytes, full);
    load_bytes(shared.minus_dot[turn.stage], arguments.minus_dot + row, T::number_bytes, full);
    if (count == 0) {
      load_tile<T::keys, T::loaded_head>(shared.values, arguments.v, keys, shared.values_full,
                                         Keep::first_out);
    }
    if (!douts_first) refill_douts();
    ++count;
  });
}

}  // namespace assay::flash
