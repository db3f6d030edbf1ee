#pragma once

#include "attention/flash/producer.cuh"
#include "problem.h"
#include "schedule.cuh"
#include "tile.cuh"

// One thread loads a tile of keys and values, then the blocks of queries that see them.
namespace assay::flash {

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
__device__ void produce_backward(const BackwardArguments& arguments, BackwardShared<T>& shared) {
  const Shape& shape = arguments.shape;
  const int group = shape.heads / shape.kv_heads;
  unsigned tiles = 0, count = 0;  // loaded so far: tiles of keys, blocks of queries
  int number = static_cast<int>(blockIdx.x);
  for (; number < arguments.items; ++tiles) {
    const KeyWork work = key_work_at(arguments, number);
    const QueryBlocks blocks(shape, work.tile, T::keys, T::rows, work.part, arguments.parts.blocks);
    const Place keys = {0, work.tile * T::keys, work.head, work.batch};
    announce(shared, tiles, {work.tile, work.head, work.batch, work.part});
    refill<T::keys, T::head>(shared.keys, shared.keys_full, shared.keys_empty, tiles, arguments.k,
                             keys, Keep::first_out);
    bool first = true;
    const auto load_values = [&] {
      if (first) {
        refill<T::keys, T::head>(shared.values, shared.values_full, shared.values_empty, tiles,
                                 arguments.v, keys, Keep::first_out);
      }
      first = false;
    };
    blocks.for_each([&](int head_of_group, int block) {
      const Turn<T::stages> turn(count++);
      const Place place = {0, block * T::rows, work.head * group + head_of_group, work.batch};
      const std::int64_t row =
          ((std::int64_t{place.batch} * shape.heads + place.head) * arguments.query_blocks +
           block) *
          T::rows;
      refill_rows<T>(shared.queries[turn.stage], shared.lse[turn.stage],
                     shared.queries_full[turn.stage], shared.queries_empty[turn.stage], turn.parity,
                     arguments.q, place, arguments.lse + row);
      load_values();  // the first scores need none
      refill_rows<T>(shared.douts[turn.stage], shared.dot[turn.stage],
                     shared.douts_full[turn.stage], shared.douts_empty[turn.stage], turn.parity,
                     arguments.dout, place, arguments.dot + row);
    });
    load_values();
    // Taken as late as the loads allow, so that who is done first takes the next.
    number = static_cast<int>(gridDim.x + atomicAdd(arguments.taken, 1u));
  }
  announce(shared, tiles, {0, 0, 0, -1});
}

}  // namespace assay::flash
