#pragma once

#include <cuda.h>

#include <cstdint>

namespace assay::flash {

// q [batch, heads, queries, head], k and v [batch, kv_heads, keys, head].
struct Shape {
  int batch, heads, kv_heads, queries, keys, head;
  bool causal;
  int window;   // 0: none; at most 2^30
  float scale;  // of the scores, above 0, in units of log2: scale · log2(e)
};

// A tensor [batch, heads, rows, head] whose last dimension is contiguous.
struct Operand {
  const void* data;
  std::int64_t batch_stride, head_stride, row_stride;  // elements
};

// What the kernel gets: the tensors as the copy engine sees them.
struct Arguments {
  CUtensorMap q, k, v, out;
  float* lse;  // [batch, heads, queries]
  Shape shape;
  int row_tiles, tiles;
  int heads_at_once;  // heads whose tiles are mixed
  // Tiles taken beyond the first of each block of threads, 0 at the start. Null: a block takes every
  // gridDim.x-th tile.
  unsigned* taken;
};

}  // namespace assay::flash
