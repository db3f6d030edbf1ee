#pragma once

#include "mask.cuh"
#include "problem.h"

// Which block of threads takes which work.
namespace assay::flash {

// A part of the blocks of queries that see a tile of keys of a head of k.
struct KeyWork {
  int tile, head, batch, part;
};
inline constexpr int nothing_seen = -1;  // part of a tile that no query sees, and behind the last

// Item `number` in the order in which they are started. Under a causal mask the first keys are seen
// by the most queries: these come first, so that short tiles fill the end. Where sums are added in
// turns the last keys come first, for whose sums the others wait. Only as many heads are mixed as
// have their queries in the L2 cache together. Later parts follow when all tiles have begun.
__device__ inline KeyWork key_work_at(const BackwardArguments& arguments, int number) {
  const int heads = arguments.shape.kv_heads * arguments.shape.batch;
  int part = 0, tiles = arguments.key_tiles, mixed = arguments.heads_at_once;
  if (arguments.parts.count > 1) {
    mixed = heads;
    while (number >= tiles * heads) {
      number -= tiles * heads;
      tiles = arguments.parts.tiles_with[++part];
    }
  }
  const int first_head = number / (tiles * mixed) * mixed;
  const int rest = number % (tiles * mixed);
  if (heads - first_head < mixed) mixed = heads - first_head;
  const int head = first_head + rest % mixed, tile = rest / mixed;
  return {arguments.turns != nullptr ? tiles - 1 - tile : tile, head % arguments.shape.kv_heads,
          head / arguments.shape.kv_heads, part};
}

// Blocks of queries in the order of all: the heads of the group one after the other.
struct QueryBlocks {
  BlockRange of_head;
  int first_head = 0;
  int first, end;  // of all, of which there are `total`
  int total;

  __host__ __device__ QueryBlocks(const Shape& shape, int tile, int keys, int rows, int part,
                                  int part_blocks)
      : of_head(seeing_blocks(shape, tile * keys, keys, rows)),
        total(of_head.count() * (shape.heads / shape.kv_heads)) {
    first = part * part_blocks;
    end = total - first < part_blocks ? total : first + part_blocks;
  }

  // Calls `use` with each head of the group, of all batches', and block. One loop: nested ones
  // would move accumulators while products use them.
  template <class Use>
  __device__ __forceinline__ void for_each(const Use& use) const {
    if (total == 0) return;
    int head = first_head + first / of_head.count();
    int block = of_head.first + first % of_head.count();
    for (int left = end - first; left > 0; --left) {
      use(head, block);
      if (++block == of_head.end) {
        block = of_head.first;
        ++head;
      }
    }
  }
};

template <class T>
__device__ inline QueryBlocks query_blocks_of(const BackwardArguments& arguments,
                                              const KeyWork& work) {
  QueryBlocks blocks(arguments.shape, work.tile, T::keys, T::rows, work.part,
                     arguments.parts.blocks);
  const Shape& shape = arguments.shape;
  blocks.first_head = work.batch * shape.heads + work.head * (shape.heads / shape.kv_heads);
  return blocks;
}

}  // namespace assay::flash
