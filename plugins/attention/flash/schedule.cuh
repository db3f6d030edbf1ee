#pragma once

#include "problem.h"

// Which work is whose turn.
namespace assay::flash {

// A part of the keys of queries row_tile · rows … of a head.
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

// The item after `number` of this block of threads.
__device__ inline int next_item(unsigned* taken, int number) {
  const int grid = static_cast<int>(gridDim.x);
  if (taken == nullptr) return number + grid;
  return grid + static_cast<int>(atomicAdd(taken, 1u));
}

}  // namespace assay::flash
