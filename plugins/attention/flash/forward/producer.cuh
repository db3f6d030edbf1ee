#pragma once

#include "attention/flash/instructions.cuh"
#include "attention/flash/loading.cuh"
#include "attention/flash/mask.cuh"
#include "attention/flash/tile.cuh"
#include "schedule.cuh"

// One thread takes work and keeps the copy engine busy, ahead of the consumers by as many blocks as
// there are stages.
namespace assay::flash {

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
