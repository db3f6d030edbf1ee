#pragma once

#include "attention/flash/mask.cuh"
#include "attention/flash/problem.h"
#include "attention/flash/tile.cuh"

// Where tiles lie, and which is whose turn.
namespace assay::flash {

template <class T>
__host__ __device__ int row_tiles(const Shape& shape) {
  return (shape.queries + T::rows - 1) / T::rows;
}

// A tile's first row. Under a causal mask tiles end with the last warpgroup that has a query: the
// tile cut off is then the first, which sees the fewest keys. Its rows in front of the queries are
// those of whole warpgroups.
template <class T>
__host__ __device__ int first_row_of(const Shape& shape, int row_tile) {
  if (!T::fits_mask || !shape.causal) return row_tile * T::rows;
  const int end = (shape.queries + group_rows - 1) / group_rows * group_rows;
  return end - (row_tiles<T>(shape) - row_tile) * T::rows;
}

// The blocks that a warpgroup computes, of those loaded for its tile.
template <class T>
__host__ __device__ BlockRange blocks_of_group(const Shape& shape, int first_row, int group,
                                               const BlockRange& loaded) {
  if constexpr (!T::fits_mask) return loaded;
  return seen_blocks(shape, first_row + group * group_rows, group_rows, T::keys).among(loaded);
}

// A part of the keys of a tile of a head's queries.
struct Work {
  int row_tile, head, batch, part;
};

// Item `number` in the order in which they are taken. Under a causal mask the last rows see the
// most keys: these come first, so that short tiles fill the end. Only as many heads are mixed as
// have their keys and values in the L2 cache together. Later parts, of which the last are short,
// follow when all tiles have begun; in a cluster they are neighbours.
__host__ __device__ inline Work item_at(const Arguments& arguments, int number) {
  const int heads = arguments.shape.heads * arguments.shape.batch;
  int part = 0, row_tiles = arguments.row_tiles, mixed = arguments.heads_at_once;
  if (arguments.parts.together > 1) {
    part = number % arguments.parts.together;
    number /= arguments.parts.together;
  } else if (arguments.parts.count > 1) {
    mixed = heads;
    while (number >= row_tiles * heads) {
      number -= row_tiles * heads;
      row_tiles = arguments.row_tiles - arguments.parts.first_row_tile[++part];
    }
  }
  const int first_head = number / (row_tiles * mixed) * mixed;
  const int rest = number % (row_tiles * mixed);
  if (heads - first_head < mixed) mixed = heads - first_head;
  const int head = first_head + rest % mixed;
  const int row_tile = rest / mixed;
  return {arguments.shape.causal ? arguments.row_tiles - 1 - row_tile : row_tile,
          head % arguments.shape.heads, head / arguments.shape.heads, part};
}

}  // namespace assay::flash
