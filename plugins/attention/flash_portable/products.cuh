#pragma once

#include "fill.cuh"
#include "instructions.cuh"
#include "tile.cuh"

// The two products of all passes, of a warp's 16 · row_blocks rows:
//   score:  scores [rows, slice] = resident rows · columnsᵀ, both [·, head] in shared memory;
//   weigh:  sums [rows, summed] += weights [rows, slice] · columns, weights from registers.
// A fragment of scores or sums, float [4], is a block of 16 rows and 8 columns: lane l has
// rows l / 4 (numbers 0, 1) and l / 4 + 8 (2, 3). Scores of a lane are in the columns l % 4 · 2 and
// the next; columns of sums lie as Products::store says.
namespace assay::flash_portable {

template <class Tile>
using Scores = float[Tile::row_blocks][Tile::slice / 8][4];
template <class Tile>
using Sums = float[Tile::row_blocks][Tile::summed / 8][4];

// Where a lane's part of fragments begins, in bytes: matrices as load_matrices wants them.
struct LaneOffsets {
  std::uint32_t rows;     // 16 rows × 32 bytes: upper left, lower left, upper right, lower right
  std::uint32_t columns;  // the same: upper left, upper right, lower left, lower right
  std::uint32_t below;    // fp32, 16 bytes of rows 2 (l % 4): piece l / 4 of 8

  __device__ explicit LaneOffsets(int row_bytes) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    rows = lane % 16 * row_bytes + lane / 16 * 16;
    columns = (lane % 8 + lane / 16 * 8) * row_bytes + lane / 8 % 2 * 16;
    below = lane % 4 * 2 * row_bytes + lane / 4 * 16;
  }
};

template <class Tile, class Element = typename Tile::Element>
struct Products;

__device__ __forceinline__ std::uint32_t packed(float first, float second, __nv_bfloat16) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(first, second);
  return reinterpret_cast<const std::uint32_t&>(pair);
}
__device__ __forceinline__ std::uint32_t packed(float first, float second, __half) {
  const __half2 pair = __floats2half2_rn(first, second);
  return reinterpret_cast<const std::uint32_t&>(pair);
}

// fp16 and bf16.
template <class Tile, class Element>
struct Products {
  static constexpr int row_blocks = Tile::row_blocks;

  // `rows` and `columns`: addresses of the first row of each.
  template <bool transposed>
  __device__ __forceinline__ static void score(Scores<Tile>& scores, std::uint32_t rows,
                                               std::uint32_t columns, const LaneOffsets& lane) {
#pragma unroll
    for (auto& block : scores)
      for (auto& fragment : block)
        for (float& score : fragment) score = 0;
#pragma unroll 4
    for (int step = 0; step < Tile::head / 16; ++step) {  // 16 elements of the head, 32 bytes
      std::uint32_t left[row_blocks][4];
#pragma unroll
      for (int m = 0; m < row_blocks; ++m)
        load_matrices(left[m], rows + lane.rows + m * 16 * Tile::row_bytes + step * 32);
#pragma unroll
      for (int n = 0; n < Tile::slice / 8; n += 2) {  // 16 columns
        std::uint32_t right[4];
        load_matrices(right, columns + lane.columns + n * 8 * Tile::row_bytes + step * 32);
#pragma unroll
        for (int m = 0; m < row_blocks; ++m) {
          multiply_add<Element>(scores[m][n], left[m], right[0], right[1]);
          multiply_add<Element>(scores[m][n + 1], left[m], right[2], right[3]);
        }
      }
    }
  }

  __device__ __forceinline__ static void weigh(Sums<Tile>& sums, const Scores<Tile>& weights,
                                               std::uint32_t columns, Range seen,
                                               const LaneOffsets& lane) {
#pragma unroll
    for (int k = 0; k < Tile::slice / 16; ++k) {  // 16 columns: two fragments of weights
      if (16 * k + 16 <= seen.first || 16 * k >= seen.end) continue;
      std::uint32_t left[row_blocks][4];
#pragma unroll
      for (int m = 0; m < row_blocks; ++m)
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const float* pair = &weights[m][2 * k + i / 2][i % 2 * 2];
          left[m][i] = packed(pair[0], pair[1], Element());
        }
#pragma unroll
      for (int n = 0; n < Tile::summed / 8; n += 2) {  // 16 elements of the head, 32 bytes
        std::uint32_t right[4];
        load_transposed(right, columns + lane.rows + k * 16 * Tile::row_bytes + n * 16);
#pragma unroll
        for (int m = 0; m < row_blocks; ++m) {
          multiply_add<Element>(sums[m][n], left[m], right[0], right[1]);
          multiply_add<Element>(sums[m][n + 1], left[m], right[2], right[3]);
        }
      }
    }
  }

  // A lane's sums of one row, times `factor`, to the `head` elements at `to`: fragment n has the
  // columns 8n + l % 4 · 2 and the next. `half`: 0 for row l / 4, 1 for row l / 4 + 8.
  __device__ __forceinline__ static void store(Element* to, int head,
                                               const float (&sums)[Tile::summed / 8][4], int half,
                                               float factor) {
    const int column = static_cast<int>(threadIdx.x) % 4 * 2;
#pragma unroll
    for (int n = 0; n < Tile::summed / 8; ++n) {
      if (8 * n >= head) break;
      store_global(to + 8 * n + column,
                   packed(sums[n][2 * half] * factor, sums[n][2 * half + 1] * factor, Element()));
    }
  }
};

// fp32, each operand as a large and a small TF32: the product is large · large + large · small +
// small · large. The tensor cores cut sums off where they should round, so each step of 8 begins at
// zero, smallest terms first, and is added outside.
template <class Tile>
struct Products<Tile, float> {
  static constexpr int row_blocks = Tile::row_blocks;

  struct Left {
    std::uint32_t large[4], small[4];

    __device__ __forceinline__ void set(int i, float x) {
      const Split split(x);
      large[i] = bits_of(split.large);
      small[i] = bits_of(split.small);
    }
  };

  // Calls work(fragment, m, j) for each fragment of the rows' blocks m.
  template <int fragments, class Work>
  __device__ __forceinline__ static void each(float (&part)[row_blocks][fragments][4], Work work) {
#pragma unroll
    for (int m = 0; m < row_blocks; ++m)
#pragma unroll
      for (int j = 0; j < fragments; ++j) work(part[m][j], m, j);
  }

  // The order of terms is that of operands, so that a score is the same to the bit when rows and
  // columns change places: `transposed` where queries are the columns.
  template <bool transposed>
  __device__ __forceinline__ static void score(Scores<Tile>& scores, std::uint32_t rows,
                                               std::uint32_t columns, const LaneOffsets& lane) {
#pragma unroll
    for (auto& block : scores)
      for (auto& fragment : block)
        for (float& score : fragment) score = 0;
#pragma unroll 1
    for (int step = 0; step < Tile::head / 8; ++step) {  // 8 elements of the head, 32 bytes
      Left left[row_blocks];
#pragma unroll
      for (int m = 0; m < row_blocks; ++m) {
        std::uint32_t loaded[4];
        load_matrices(loaded, rows + lane.rows + m * 16 * Tile::row_bytes + step * 32);
#pragma unroll
        for (int i = 0; i < 4; ++i) left[m].set(i, float_of(loaded[i]));
      }
#pragma unroll
      for (int n = 0; n < Tile::slice / 8; n += 2) {  // 16 columns
        const std::uint32_t from = columns + lane.columns + n * 8 * Tile::row_bytes + step * 32;
        std::uint32_t large[4], small[4];
        load_matrices(large, from);
        load_matrices(small, from + Tile::plane_bytes);
        float part[row_blocks][2][4];
        each(part, [&](auto& sum, int m, int j) {
          const auto& a = transposed ? left[m].large : left[m].small;
          const auto& b = transposed ? small : large;
          multiply_add_tf32<true>(sum, a, b[2 * j], b[2 * j + 1]);
        });
        each(part, [&](auto& sum, int m, int j) {
          const auto& a = transposed ? left[m].small : left[m].large;
          const auto& b = transposed ? large : small;
          multiply_add_tf32<false>(sum, a, b[2 * j], b[2 * j + 1]);
        });
        each(part, [&](auto& sum, int m, int j) {
          multiply_add_tf32<false>(sum, left[m].large, large[2 * j], large[2 * j + 1]);
        });
#pragma unroll
        for (int m = 0; m < row_blocks; ++m)
#pragma unroll
          for (int i = 0; i < 8; ++i) scores[m][n + i / 4][i % 4] += part[m][i / 4][i % 4];
      }
    }
  }

  // Weights are the left operand where they are: its columns t and t + 4 are the lane's 2t and
  // 2t + 1. Its right operand's columns are chosen so that a lane reads 16 bytes: column g of
  // fragment 4n + j is the element 32n + 4g + j of the head.
  __device__ __forceinline__ static void weigh(Sums<Tile>& sums, const Scores<Tile>& weights,
                                               std::uint32_t columns, Range seen,
                                               const LaneOffsets& lane) {
#pragma unroll
    for (int k = 0; k < Tile::slice / 8; ++k) {  // 8 columns
      if (8 * k + 8 <= seen.first || 8 * k >= seen.end) continue;
      Left left[row_blocks];
#pragma unroll
      for (int m = 0; m < row_blocks; ++m)
#pragma unroll
        for (int i = 0; i < 4; ++i) left[m].set(i, weights[m][k][i % 2 * 2 + i / 2]);
#pragma unroll
      for (int n = 0; n < Tile::summed / 32; ++n) {  // 32 elements of the head, 128 bytes
        const std::uint32_t from = columns + lane.below + k * 8 * Tile::row_bytes + n * 128;
        float part[row_blocks][4][4];
        const Pair small(from + Tile::plane_bytes);
        each(part, [&](auto& sum, int m, int j) {
          multiply_add_tf32<true>(sum, left[m].large, small.first[j], small.second[j]);
        });
        const Pair large(from);
        each(part, [&](auto& sum, int m, int j) {
          multiply_add_tf32<false>(sum, left[m].small, large.first[j], large.second[j]);
        });
        each(part, [&](auto& sum, int m, int j) {
          multiply_add_tf32<false>(sum, left[m].large, large.first[j], large.second[j]);
        });
#pragma unroll
        for (int m = 0; m < row_blocks; ++m)
#pragma unroll
          for (int i = 0; i < 16; ++i) sums[m][4 * n + i / 4][i % 4] += part[m][i / 4][i % 4];
      }
    }
  }

  // As above; the lane's columns of fragments 4n … 4n + 3 are the 8 from 32n + l % 4 · 8 on.
  __device__ __forceinline__ static void store(float* to, int head,
                                               const float (&sums)[Tile::summed / 8][4], int half,
                                               float factor) {
    const int column = static_cast<int>(threadIdx.x) % 4 * 8;
#pragma unroll
    for (int n = 0; n < Tile::summed / 32; ++n) {
      if (32 * n + column >= head) break;
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const auto sum = [&](int j) { return sums[4 * n + j][2 * half + i] * factor; };
        store_global(to + 32 * n + column + 4 * i, float4{sum(0), sum(1), sum(2), sum(3)});
      }
    }
  }

 private:
  // Four fragments' right operands: of 2 rows, 4 elements of the head each.
  struct Pair {
    std::uint32_t first[4], second[4];

    __device__ __forceinline__ explicit Pair(std::uint32_t from) {
      const float4 upper = load_shared_4(from), lower = load_shared_4(from + Tile::row_bytes);
      first[0] = bits_of(upper.x), first[1] = bits_of(upper.y);
      first[2] = bits_of(upper.z), first[3] = bits_of(upper.w);
      second[0] = bits_of(lower.x), second[1] = bits_of(lower.y);
      second[2] = bits_of(lower.z), second[3] = bits_of(lower.w);
    }
  };
};

}  // namespace assay::flash_portable
