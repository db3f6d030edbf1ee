#pragma once

#include "problem.h"

// Which tile is whose turn.
namespace assay::flash {

// Queries row_tile · rows … of a head.
struct Work {
  int row_tile, head, batch;
};

// Tile number `number` in the order in which tiles are taken. Under a causal mask the last rows see
// the most keys: these come first, so that short tiles fill the end. Only as many heads are mixed as
// have their keys and values in the L2 cache together.
__host__ __device__ inline Work tile_at(const Arguments& arguments, int number) {
  const int heads = arguments.shape.heads * arguments.shape.batch;
  const int tiles_at_once = arguments.row_tiles * arguments.heads_at_once;
  const int first_head = number / tiles_at_once * arguments.heads_at_once;
  const int rest = number % tiles_at_once;
  const int mixed =
      heads - first_head < arguments.heads_at_once ? heads - first_head : arguments.heads_at_once;
  const int head = first_head + rest % mixed;
  const int row_tile = rest / mixed;
  return {arguments.shape.causal ? arguments.row_tiles - 1 - row_tile : row_tile,
          head % arguments.shape.heads, head / arguments.shape.heads};
}

// The tile after `number` of this block of threads.
__device__ inline int next_tile(const Arguments& arguments, int number) {
  const int grid = static_cast<int>(gridDim.x);
  if (arguments.taken == nullptr) return number + grid;
  return grid + static_cast<int>(atomicAdd(arguments.taken, 1u));
}

}  // namespace assay::flash
