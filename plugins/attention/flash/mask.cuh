#pragma once

#include <cmath>
#include <cstdint>

#include "problem.h"

// Which keys a query sees, and which blocks of keys need a look.
namespace assay::flash {

// first ≤ key < end; nothing where end ≤ first.
struct KeyRange {
  int first, end;
};

// Query `row` stands at the key row + keys − queries (assay/attention.h).
__host__ __device__ inline KeyRange seen_keys(const Shape& shape, int row) {
  const int place = row + shape.keys - shape.queries;
  KeyRange range = {0, shape.keys};
  if (shape.window > 0) {
    range.first = place - shape.window + 1 > 0 ? place - shape.window + 1 : 0;
    range.end = place + shape.window < range.end ? place + shape.window : range.end;
  }
  if (shape.causal && place + 1 < range.end) range.end = place + 1;
  return range;
}

// Blocks of `keys` keys for queries that follow each other, both bounds of which grow with the row.
struct BlockRange {
  int first, end;  // blocks of which a query sees something
  KeyRange seen_by_all;

  __host__ __device__ bool empty() const { return end <= first; }
  __host__ __device__ int count() const { return end - first; }
  // Part number `part` of `blocks` blocks each, the last keys first.
  __host__ __device__ BlockRange part(int part, int blocks) const {
    const auto at_least_first = [&](int block) { return block > first ? block : first; };
    const int part_end = at_least_first(end - part * blocks);
    return {at_least_first(part_end - blocks), part_end, seen_by_all};
  }
  // The part of them in `loaded`. An empty one lies within its bounds: what is left on both sides
  // adds up.
  __host__ __device__ BlockRange among(const BlockRange& loaded) const {
    const auto within = [](int block, int first, int end) {
      return block < first ? first : block > end ? end : block;
    };
    const int from = within(first, loaded.first, loaded.end);
    return {from, within(end, from, loaded.end), seen_by_all};
  }
  // Whether some query does not see some key of the block.
  __host__ __device__ bool needs_mask(int block, int keys) const {
    return block * keys < seen_by_all.first || (block + 1) * keys > seen_by_all.end;
  }
};

// Rows in front of the queries and beyond them see nothing.
__host__ __device__ inline BlockRange seen_blocks(const Shape& shape, int first_row, int rows,
                                                  int keys) {
  const int top_row = first_row > 0 ? first_row : 0;
  const int last_row = (first_row + rows < shape.queries ? first_row + rows : shape.queries) - 1;
  const KeyRange top = seen_keys(shape, top_row), bottom = seen_keys(shape, last_row);
  BlockRange range = {0, 0, {bottom.first, top.end}};
  if (last_row >= top_row && bottom.end > top.first)
    range = {top.first / keys, (bottom.end + keys - 1) / keys, {bottom.first, top.end}};
  return range;
}

// Scores of keys outside a thread's two ranges become −∞. Register 4i + 2r + c is that of row r and
// column 8i + c; the ranges count from the thread's first column.
template <int count>
__device__ __forceinline__ void hide(float (&scores)[count], KeyRange upper, KeyRange lower) {
#pragma unroll
  for (int i = 0; i < count; ++i) {
    const KeyRange seen = i / 2 % 2 == 0 ? upper : lower;
    const int column = i / 4 * 8 + i % 2;
    const bool hidden =
        static_cast<unsigned>(column - seen.first) >= static_cast<unsigned>(seen.end - seen.first);
    if (hidden) scores[i] = -INFINITY;
  }
}

// Of a row's scores, two of every eight columns, those in columns below `column`.
__host__ __device__ inline int scores_below(int column) {
  const int columns = column > 0 ? column : 0;
  return columns / 8 * 2 + (columns % 8 < 2 ? columns % 8 : 2);
}

// The lowest `count` bits, none to all.
__device__ inline std::uint32_t bits_below(int count) {
  return __funnelshift_lc(~0u, 0, count > 0 ? count : 0);
}

// hide() by bits, which become predicates several at a time: two thirds of the instructions. Two
// warpgroups are slower with it, three faster.
template <int count>
__device__ __forceinline__ void hide_by_bits(float (&scores)[count], KeyRange upper,
                                             KeyRange lower) {
  constexpr int bits = 32;
#pragma unroll
  for (int row = 0; row < 2; ++row) {
    const KeyRange range = row == 0 ? upper : lower;
    const int first = scores_below(range.first), end = scores_below(range.end);
#pragma unroll
    for (int word = 0; word < count / 2; word += bits) {
      const std::uint32_t seen = bits_below(end - word) & ~bits_below(first - word);
#pragma unroll
      for (int i = word; i < count / 2 && i < word + bits; ++i) {
        if (!(seen >> (i - word) & 1)) scores[i / 2 * 4 + row * 2 + i % 2] = -INFINITY;
      }
    }
  }
}

// From keys of the sequence to columns of a thread; never of negative length.
__device__ inline KeyRange from_column(KeyRange range, int column) {
  return {range.first - column, (range.end > range.first ? range.end : range.first) - column};
}

}  // namespace assay::flash
