#pragma once

#include <cmath>

#include "instructions.cuh"
#include "mask.cuh"
#include "products.cuh"

// The softmax in the layout of fragments: from scores to weights in place.
namespace assay::flash_portable {

inline constexpr float log2_of_e = 1.44269504f;

// Where a lane's numbers of a fragment are: number i in row r + 8 (i / 2), column c + i % 2.
struct LanePlace {
  int row, column;

  __device__ LanePlace()
      : row(static_cast<int>(threadIdx.x) % 32 / 4),
        column(static_cast<int>(threadIdx.x) % 4 * 2) {}
};

// Calls visit(number, row, column) for each number of the scores; rows count from the warp's first.
template <class Tile, class Visit>
__device__ __forceinline__ void for_each_score(Scores<Tile>& scores, const LanePlace& lane,
                                               Visit visit) {
#pragma unroll
  for (int m = 0; m < Tile::row_blocks; ++m)
#pragma unroll
    for (int n = 0; n < Tile::slice / 8; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        visit(scores[m][n][i], 16 * m + i / 2 * 8 + lane.row, 8 * n + i % 2 + lane.column);
}

// For each of a lane's 2 · row_blocks rows.
template <class Tile>
struct RowFacts {
  float of[Tile::row_blocks][2];
};

// A row's largest score so far, and the sum of its weights as far as this lane has seen them, in
// units in which the weight of the largest is 1: Dao 2023, "FlashAttention-2", algorithm 1.
template <class Tile>
struct OnlineSoftmax {
  float largest[Tile::row_blocks][2], total[Tile::row_blocks][2];

  __device__ OnlineSoftmax() {
    for (auto& rows : largest) rows[0] = rows[1] = -INFINITY;
    for (auto& rows : total) rows[0] = rows[1] = 0;
  }

  // Scores become weights; `sums` are brought to the same units. `factor`: scale · log2(e). Scores
  // are subtracted before they are scaled: the difference of large ones is exact.
  __device__ __forceinline__ void add(Scores<Tile>& scores, Sums<Tile>& sums, float factor) {
#pragma unroll
    for (int m = 0; m < Tile::row_blocks; ++m)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float next = largest[m][half];
#pragma unroll
        for (auto& fragment : scores[m])
          next = fmaxf(next, fmaxf(fragment[2 * half], fragment[2 * half + 1]));
        next = over_row(next, [](float a, float b) { return fmaxf(a, b); });
        // A row that has seen no key yet has nothing to subtract.
        const float base = next == -INFINITY ? 0 : next;
        const float kept = power_of_two((largest[m][half] - base) * factor);
        largest[m][half] = next;
        total[m][half] *= kept;
#pragma unroll
        for (auto& fragment : scores[m])
#pragma unroll
          for (int i = 2 * half; i < 2 * half + 2; ++i) {
            fragment[i] = power_of_two((fragment[i] - base) * factor);
            total[m][half] += fragment[i];
          }
#pragma unroll
        for (auto& fragment : sums[m]) {
          fragment[2 * half] *= kept;
          fragment[2 * half + 1] *= kept;
        }
      }
  }

  // The sum over all lanes of a row; call it once, at the end.
  __device__ __forceinline__ float whole_total(int m, int half) const {
    return over_row(total[m][half], [](float a, float b) { return a + b; });
  }

 private:
  template <class Combine>
  __device__ __forceinline__ static float over_row(float x, Combine combine) {  // 4 lanes
    x = combine(x, from_lane_xor(x, 1));
    return combine(x, from_lane_xor(x, 2));
  }
};

// The weight of a score, from its row's log-sum-exp. The product is rounded as that of the forward
// was, so that the weight of a score that outweighs all others is 1 however large it is.
__device__ __forceinline__ float weight(float score, float scale, float lse) {
  return power_of_two((rounded_product(score, scale) - lse) * log2_of_e);
}

}  // namespace assay::flash_portable
