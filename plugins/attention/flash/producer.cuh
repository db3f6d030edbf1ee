#pragma once

#include "instructions.cuh"
#include "mask.cuh"
#include "schedule.cuh"
#include "tile.cuh"

// One thread takes work and keeps the copy engine busy, ahead of the consumers by as many blocks as
// there are stages.
namespace assay::flash {

// [rows, head] of a head from row `place.row` on, one box for each block of 64 columns. Rows and
// columns beyond the tensor come as zeros, which count as bytes.
template <int rows, int head>
__device__ inline void load_tile(std::byte* to, const CUtensorMap& map, Place place,
                                 std::uint64_t& full, Keep keep) {
  arrive_and_expect(full, tile_bytes(rows, head));
#pragma unroll
  for (int block = 0; block < blocks_of_head(head); ++block) {
    place.column = block * block_columns;
    load_box(to + block * rows * block_row_bytes, map, place, full, keep);
  }
}

// Waits until the consumers have emptied a buffer of a ring, then fills it.
template <int rows, int head, int stages, class Buffer>
__device__ inline void refill(Buffer (&buffers)[stages], std::uint64_t (&full)[stages],
                              std::uint64_t (&empty)[stages], unsigned count,
                              const CUtensorMap& map, Place place, Keep keep) {
  const Turn<stages> turn(count);
  wait(empty[turn.stage], turn.parity ^ 1);
  load_tile<rows, head>(buffers[turn.stage], map, place, full[turn.stage], keep);
}

// Work number `count`, for the consumers.
template <class Shared>
__device__ inline void announce(Shared& shared, unsigned count, int4 work) {
  const Turn<2> turn(count);
  wait(shared.work_empty[turn.stage], turn.parity ^ 1);
  shared.work[turn.stage] = work;
  arrive(shared.work_full[turn.stage]);
}

template <class T>
__device__ void produce(const Arguments& arguments, Shared<T>& shared) {
  const Shape& shape = arguments.shape;
  unsigned tiles = 0, keys = 0, values = 0;  // loaded so far
  int number = static_cast<int>(blockIdx.x);
  while (number < arguments.items) {
    const Work work = item_at(arguments, number);
    const int first_row = first_row_of<T>(shape, work.row_tile);
    const BlockRange range =
        seen_blocks(shape, first_row, T::rows, T::keys).part(work.part, arguments.parts.blocks);
    Place place = {0, first_row, work.head, work.batch};

    announce(shared, tiles, {work.row_tile, work.head, work.batch, work.part});
    refill<T::rows, T::loaded_head>(shared.queries, shared.queries_full, shared.queries_empty,
                                    tiles, arguments.q, place, Keep::first_out);
    place.head /= shape.heads / shape.kv_heads;
    // With overlap K runs a block ahead of V, as the consumers' products do.
    constexpr int ahead = T::flow.overlap ? 1 : 0;
    for (int block = range.end - 1; block >= range.first - ahead; --block) {
      if (block >= range.first) {
        place.row = block * T::keys;
        refill<T::keys, T::loaded_head>(shared.keys, shared.keys_full, shared.keys_empty, keys++,
                                        arguments.k, place, Keep::last_out);
      }
      if (block < range.end - ahead) {
        place.row = (block + ahead) * T::keys;
        refill<T::keys, T::loaded_head>(shared.values, shared.values_full, shared.values_empty,
                                        values++, arguments.v, place, Keep::last_out);
      }
    }
    ++tiles;
    // Taken as late as the loads allow, so that who is done first takes the next.
    number = next_item(arguments.taken, number);
  }
  announce(shared, tiles, {0, 0, 0, -1});
}

}  // namespace assay::flash
