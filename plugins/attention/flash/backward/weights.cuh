#pragma once

#include "attention/flash/instructions.cuh"
#include "attention/flash/softmax.cuh"
#include "attention/flash/threads.cuh"
#include "problem.h"

// From scores to weights, and from dP to slopes, with keys as rows: log-sum-exps and D belong to
// columns.
namespace assay::flash {

// Whether a query's scores are rounded by more than a weight bears (problem.h), or nearly: its
// lse has been lowered (rows.cu).
__device__ inline bool is_beyond(float lse) {
  return fabsf(lse) > 0.99F * rounded_beyond && lse != INFINITY;
}

// A block's log-sum-exps, shared out over the warp, read ahead of its products.
template <class T>
struct RowsAhead {
  static_assert(T::rows % warp == 0);
  float lse[T::rows / warp];

  __device__ __forceinline__ void read(const float* of_block, int lane) {
#pragma unroll
    for (int i = 0; i < T::rows / warp; ++i) {
      lse[i] = load_shared(shared_address(of_block) + (i * warp + lane) * 4);
    }
  }
  __device__ __forceinline__ bool any_beyond() {
    pin(lse);
    bool beyond = false;
#pragma unroll
    for (const float of_row : lse) beyond |= is_beyond(of_row);
    return __any_sync(~0u, beyond);
  }
};

template <int rows>
__device__ __forceinline__ bool any_beyond(const float (&lse)[rows], int lane) {
  bool beyond = false;
#pragma unroll
  for (int first = 0; first < rows; first += warp) beyond |= is_beyond(lse[first + lane]);
  return __any_sync(~0u, beyond);
}

// A number for each query, as a thread's columns of scores are: 8i + 2t and the one after it.
template <int pairs>
__device__ __forceinline__ void read_numbers(float2 (&numbers)[pairs], std::uint32_t from) {
#pragma unroll
  for (int i = 0; i < pairs; ++i) numbers[i] = load_shared_pair(from + i * 32);
}

// scores [64, rows] become weights 2^(scale · score − lse) of their query, at most 1 where such a
// score could be beyond its lse by its rounding.
template <bool at_most_1, int count>
__device__ __forceinline__ void weigh_by_lse(float (&scores)[count], float scale,
                                             const float2 (&lse)[count / 4]) {
  const auto weight = [&](float score, float of_query) {
    const float exponent = __fmaf_rn(score, scale, -of_query);
    return exp2_fast(at_most_1 ? smaller(exponent, 0) : exponent);
  };
#pragma unroll
  for (int i = 0; i < count / 4; ++i) {
    scores[4 * i] = weight(scores[4 * i], lse[i].x);
    scores[4 * i + 1] = weight(scores[4 * i + 1], lse[i].y);
    scores[4 * i + 2] = weight(scores[4 * i + 2], lse[i].x);
    scores[4 * i + 3] = weight(scores[4 * i + 3], lse[i].y);
  }
}

template <int count>
__device__ __forceinline__ void weigh_by_lse(float (&scores)[count], float scale,
                                             const float2 (&lse)[count / 4], bool at_most_1) {
  if (at_most_1) {
    weigh_by_lse<true>(scores, scale, lse);
  } else {
    weigh_by_lse<false>(scores, scale, lse);
  }
}

// slopes [64, rows] = −D.
template <int count>
__device__ __forceinline__ void begin_slopes(float (&slopes)[count],
                                             const float2 (&minus_dot)[count / 4]) {
#pragma unroll
  for (int i = 0; i < count; ++i) {
    slopes[i] = i % 2 == 0 ? minus_dot[i / 4].x : minus_dot[i / 4].y;
  }
  pin(slopes);  // the compiler would copy them among products, and wait for these
}

template <int count>
__device__ __forceinline__ void add_numbers(float (&slopes)[count],
                                            const float2 (&numbers)[count / 4]) {
#pragma unroll
  for (int i = 0; i < count; ++i) {
    slopes[i] += i % 2 == 0 ? numbers[i / 4].x : numbers[i / 4].y;
  }
}

// slopes = P ∘ (dP − D), where they come as dP − D.
template <class Element, int steps>
__device__ __forceinline__ void weigh_slopes(float (&slopes)[8 * steps],
                                             const std::uint32_t (&weights)[steps][4]) {
#pragma unroll
  for (int i = 0; i < 4 * steps; ++i) {
    const float2 weight = unpack<Element>(weights[i / 4][i % 4]);
    slopes[2 * i] *= weight.x;
    slopes[2 * i + 1] *= weight.y;
  }
}

}  // namespace assay::flash
