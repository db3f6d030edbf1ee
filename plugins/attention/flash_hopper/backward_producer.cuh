#pragma once

#include "backward_mask.cuh"
#include "backward_problem.h"
#include "backward_tile.cuh"
#include "producer.cuh"

// One thread loads a tile of keys and values, then the blocks of queries that see them.
namespace assay::flash {

// A tile of keys of a head of k.
struct KeyWork {
  int tile, head, batch;
};

// Item `number` in the order in which they are started. Under a causal mask the first keys are seen
// by the most queries: these come first, so that short tiles fill the end. Where sums are added in
// turns the last keys come first, for whose sums the others wait. Only as many heads are mixed as
// have their queries in the L2 cache together.
__device__ inline KeyWork key_work_at(const BackwardArguments& arguments, int number) {
  const int heads = arguments.shape.kv_heads * arguments.shape.batch;
  int mixed = arguments.heads_at_once;
  const int first_head = number / (arguments.key_tiles * mixed) * mixed;
  const int rest = number % (arguments.key_tiles * mixed);
  if (heads - first_head < mixed) mixed = heads - first_head;
  const int head = first_head + rest % mixed, tile = rest / mixed;
  return {arguments.turns != nullptr ? arguments.key_tiles - 1 - tile : tile,
          head % arguments.shape.kv_heads, head / arguments.shape.kv_heads};
}

// Calls `use` with each block of queries in the order of all: the heads of the group one after the
// other.
template <class T, class Use>
__device__ __forceinline__ void for_each_block(const Shape& shape, const KeyWork& work,
                                               const Use& use) {
  const int group = shape.heads / shape.kv_heads;
  const BlockRange range = seeing_blocks(shape, work.tile * T::keys, T::keys, T::rows);
  int head = work.head * group, block = range.first;
  // One loop: nested ones would move accumulators while products use them.
  for (int left = range.count() * group; left > 0; --left) {
    use(head, block);
    if (++block == range.end) {
      block = range.first;
      ++head;
    }
  }
}

// A block of queries [rows, head] and a number of each, once the consumers have emptied the buffer.
template <class T>
__device__ inline void refill_rows(std::byte* tile, float* numbers, std::uint64_t& full,
                                   std::uint64_t& empty, int parity, const CUtensorMap& map,
                                   Place place, const float* from) {
  wait_for_consumers(empty, parity ^ 1);
  arrive_and_expect(full, T::query_bytes + T::row_bytes);
#pragma unroll
  for (int block = 0; block < T::blocks; ++block) {
    place.column = block * block_columns;
    load_box(tile + block * T::rows * block_row_bytes, map, place, full, Keep::last_out);
  }
  load_bytes(numbers, from, T::row_bytes, full);
}

template <class T>
__device__ void produce_backward(const BackwardArguments& arguments, BackwardShared<T>& shared,
                                 const KeyWork& work) {
  const Shape& shape = arguments.shape;
  const Place keys = {0, work.tile * T::keys, work.head, work.batch};
  load_tile<T::keys, T::head>(shared.keys, arguments.k, keys, shared.keys_full, Keep::first_out);
  unsigned count = 0;
  for_each_block<T>(shape, work, [&](int head, int block) {
    const Turn<T::stages> turn(count);
    const Place place = {0, block * T::rows, head, work.batch};
    const std::int64_t row =
        ((std::int64_t{work.batch} * shape.heads + head) * arguments.query_blocks + block) *
        T::rows;
    refill_rows<T>(shared.queries[turn.stage], shared.lse[turn.stage],
                   shared.queries_full[turn.stage], shared.queries_empty[turn.stage], turn.parity,
                   arguments.q, place, arguments.lse + row);
    // The first scores need no values.
    if (count == 0) {
      load_tile<T::keys, T::head>(shared.values, arguments.v, keys, shared.values_full,
                                  Keep::first_out);
    }
    refill_rows<T>(shared.douts[turn.stage], shared.dot[turn.stage], shared.douts_full[turn.stage],
                   shared.douts_empty[turn.stage], turn.parity, arguments.dout, place,
                   arguments.dot + row);
    ++count;
  });
}

}  // namespace assay::flash
