#pragma once

#include <cstddef>

#include "tile_options.h"

// How much of the problem a block of threads holds, and where.
//
// A block keeps sums for its rows in registers and goes through the columns. The forward and dQ
// have queries as rows and keys as columns, dK and dV the reverse.
namespace assay::flash_portable {

enum class Pass { forward, query_gradient, key_gradient };

struct Sizes {
  int rows, columns;
};

constexpr int least(int a, int b) { return a < b ? a : b; }

constexpr int largest_divisor(int number, int limit) {
  while (number % limit != 0) --limit;
  return limit;
}

// Tiles for two blocks a multiprocessor: 113 KB of shared memory each on compute capability 9.0,
// and 128 threads, which may so use 255 registers each. fp32 heads of 256 take what fits compute
// capability 8.0, 163 KB.
template <class Element>
constexpr Sizes default_sizes(Pass pass, int head) {
  constexpr bool split = sizeof(Element) == 4;  // two words an element of the columns
  if (head > 128) return split ? Sizes{32, 16} : Sizes{64, 16};
  if (head > 64) {
    if (pass == Pass::forward) return {128, split ? 16 : 32};
    return {64, split ? 16 : 32};
  }
  if (pass == Pass::forward) return {128, 64};
  return {128, 32};
}

template <class Element>
constexpr Sizes sizes(Pass pass, int head) {
  const bool keys_are_rows = pass == Pass::key_gradient;
  const int rows = keys_are_rows ? tile_keys : tile_queries;
  const int columns = keys_are_rows ? tile_queries : tile_keys;
  const Sizes fitting = default_sizes<Element>(pass, head);
  return {rows > 0 ? rows : fitting.rows, columns > 0 ? columns : fitting.columns};
}

template <class Element_, Pass pass_, int head_>
struct Tile {
  using Element = Element_;
  static constexpr Pass pass = pass_;
  static constexpr int head = head_;  // the model's, zeros behind it up to a compiled size
  static constexpr int rows = sizes<Element>(pass, head).rows;
  static constexpr int columns = sizes<Element>(pass, head).columns;

  // Operands that are rows: q; q and dO; k and v. Those that are columns are always two.
  static constexpr int residents = pass == Pass::forward ? 1 : 2;
  static constexpr int outputs = pass == Pass::key_gradient ? 2 : 1;
  static constexpr int matrices = pass == Pass::forward ? 1 : 2;  // scores; and slopes

  // Elements of the head of which a block has sums. dK and dV of 256 would take 256 registers; so a
  // block has half of both, and computes scores and slopes of the whole.
  static constexpr int summed = least(head, outputs == 2 ? 128 : 256);
  static constexpr int parts = head / summed;

  // Blocks of 16 rows of a warp. With two each fragment of the columns serves twice; sums [16,
  // summed] of a block take summed / 2 registers, and more than 128 leave too few for the scores.
  static constexpr int row_blocks = rows >= 128 && outputs * summed <= 128 ? 2 : 1;
  static constexpr int warps = rows / (16 * row_blocks);
  static constexpr int threads = 32 * warps;

  // Columns whose scores are in registers at once: slice / 2 for each row block and matrix.
  static constexpr int registers_of_sums = row_blocks * outputs * summed / 2;
  static constexpr int slice_that_fits(int wanted) {
    while (wanted > 16 && registers_of_sums + row_blocks * matrices * wanted / 2 > 192) wanted /= 2;
    return wanted;
  }
  static constexpr int slice = slice_that_fits(least(columns, 64));

  // fp32 columns lie in shared memory as two TF32 planes, a large and a small part; they are split
  // on the way there, through registers. Those of 2 bytes are copied ahead, into a second stage.
  static constexpr bool split = sizeof(Element) == 4;
  static constexpr int planes = split ? 2 : 1;
  static constexpr int stages = split ? 1 : 2;

  // Rows are 16 bytes longer than the head, so that 8 rows' pieces of 16 bytes lie in different
  // banks: a row is an odd number of such pieces.
  static constexpr int row_bytes = head * static_cast<int>(sizeof(Element)) + 16;
  static constexpr int resident_bytes = rows * row_bytes;
  static constexpr int plane_bytes = columns * row_bytes;
  static constexpr int streamed_bytes = planes * plane_bytes;
  // dK and dV also read two floats of each query, its log-sum-exp and dout · out.
  static constexpr int facts_bytes =
      pass == Pass::key_gradient ? columns * static_cast<int>(sizeof(float)) : 0;
  static constexpr int stage_bytes = 2 * (streamed_bytes + facts_bytes);
  static constexpr int streams_at = residents * resident_bytes;
  static constexpr std::size_t shared_bytes = streams_at + stages * stage_bytes;
};

// Which tile a block has. Those of a head are neighbours, so that k and v of few heads are in the
// L2 cache at a time.
struct Place {
  int tile, head, batch;

  __device__ Place(unsigned block, int tiles, int heads)
      : tile(static_cast<int>(block % tiles)),
        head(static_cast<int>(block / tiles % heads)),
        batch(static_cast<int>(block / tiles / heads)) {}
};

__host__ __device__ constexpr int tiles_of(int length, int size) {
  return (length + size - 1) / size;
}

}  // namespace assay::flash_portable
