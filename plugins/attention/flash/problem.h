#pragma once

#include <cuda.h>

#include <algorithm>
#include <bit>
#include <cstdint>

namespace assay::flash {

enum class Format { bf16, fp16, fp32 };

// q [batch, heads, queries, head], k and v [batch, kv_heads, keys, head].
struct Shape {
  int batch, heads, kv_heads, queries, keys, head;
  bool causal;
  int window;           // 0: none; at most 2^30
  float scale;          // of the scores, above 0, in units of log2: scale · log2(e)
  float natural_scale;  // without log2(e)
};

// A score of 2^26 and more, times the scale, is rounded by so much that 2^(the rounding) is no
// factor for a weight any more. The scale of such rows is the next power of two, with which
// products are exact: their neighbouring scores lie so far apart that all but the largest weigh
// nothing.
constexpr float rounded_beyond = 0x1p26F;

// By what scores are multiplied, in units of log2.
struct Scale {
  float usual;
  float exact;   // the next power of two
  float beyond;  // scores further from 0 take it
  float least;   // the least score whose product with either is a number
};

inline Scale scale_of(float usual) {
  constexpr std::uint32_t mantissa = 0x7F'FFFF;
  return {
      .usual = usual,
      .exact = std::bit_cast<float>((std::bit_cast<std::uint32_t>(usual) + mantissa) & ~mantissa),
      .beyond = rounded_beyond / usual,
      .least = -0x1p126F * std::min(1.0F, 1 / usual)};
}

// A tensor [batch, heads, rows, head] whose last dimension is contiguous.
struct Operand {
  const void* data;
  std::int64_t batch_stride, head_stride, row_stride;  // elements
};

// A tile's keys may be shared among blocks of threads, in parts of so many blocks of keys: what one
// has of the output is kept in `partial`, and the last to finish adds it up. Or `together` blocks
// of threads, a cluster, have a tile's parts: they meet when all are kept, and the first adds up.
struct Parts {
  static constexpr int most = 16;
  int together = 1;
  int blocks = 1 << 20;           // of keys in a part; the last has the rest
  int count = 1;                  // of the longest tile
  int first_row_tile[most] = {};  // which has a part of this number: those below have fewer keys
  float* partial = nullptr;       // [tiles, count, consumer warps, registers / 4, 32 lanes, 4]
  unsigned* finished = nullptr;   // [tiles, consumer warps], 0 at the start; not of clusters
};

// What the kernel gets: the tensors as the copy engine sees them.
struct Arguments {
  CUtensorMap q, k, v, out;
  float* lse;  // [batch, heads, queries]
  Shape shape;
  Scale scale;
  int row_tiles, items;
  int heads_at_once;  // heads whose tiles are mixed
  Parts parts;
  // Items taken beyond the first of each block of threads, 0 at the start. Null: a block takes
  // every gridDim.x-th.
  unsigned* taken;
  Operand floats;  // fp32's, in place of `out`
};

}  // namespace assay::flash
