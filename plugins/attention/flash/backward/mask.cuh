#pragma once

#include "attention/flash/mask.cuh"

// The mask seen from the keys: which queries see a key, and which blocks of queries need a look.
namespace assay::flash {

// first ≤ query < end; nothing where end ≤ first.
using QueryRange = KeyRange;

__host__ __device__ inline QueryRange seeing_queries(const Shape& shape, int key) {
  const int at_key = key - shape.keys + shape.queries;  // the query that stands there
  QueryRange range = {0, shape.queries};
  if (key >= shape.keys) return {0, 0};
  if (shape.window > 0) {
    range.first = at_key - shape.window + 1 > 0 ? at_key - shape.window + 1 : 0;
    range.end = at_key + shape.window < range.end ? at_key + shape.window : range.end;
  }
  if (shape.causal && at_key > range.first) range.first = at_key;
  return range;
}

// Blocks of `rows` queries for a tile of keys, both bounds of which grow with the key. A tile that
// ends beyond the last key needs a look everywhere: weights there would not be 0.
__host__ __device__ inline BlockRange seeing_blocks(const Shape& shape, int first_key, int keys,
                                                    int rows) {
  const bool whole = first_key + keys <= shape.keys;
  const int last_key = (whole ? first_key + keys : shape.keys) - 1;
  const QueryRange top = seeing_queries(shape, first_key), bottom = seeing_queries(shape, last_key);
  BlockRange range = {0, 0, {bottom.first, whole ? top.end : 0}};
  // Beyond the last query lse hides what there is.
  if (whole && top.end == shape.queries) range.seen_by_all.end = (top.end + rows - 1) / rows * rows;
  if (bottom.end > top.first) {
    range.first = top.first / rows;
    range.end = (bottom.end + rows - 1) / rows;
  }
  return range;
}

// Hides what a thread's two keys, `upper` and `lower`, do not see of a block of `rows` queries,
// where some key of `keys` sees a part of it alone. scores: from column `column` of the block on.
template <int count>
__device__ __forceinline__ void hide_unseen(float (&scores)[count], const BlockRange& keys,
                                            const QueryRange& upper, const QueryRange& lower,
                                            int block, int rows, int column) {
  if (keys.needs_mask(block, rows)) {
    const int first = block * rows + column;
    hide(scores, from_column(upper, first), from_column(lower, first));
  }
}

}  // namespace assay::flash
