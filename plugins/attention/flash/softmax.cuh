#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "element_name.cuh"
#include "instructions.cuh"
#include "problem.h"

// The softmax of two rows, kept while blocks of scores come by. Milakov and Gimelshein 2018,
// "Online normalizer calculation for softmax"; Dao 2023, algorithm 1.
//
// A thread of wgmma's accumulator [64, n] has rows g and g + 8 of its warp's 16, g = lane / 4, and
// of every eight columns 2t and 2t + 1, t = lane mod 4. Register 4i + 2r + c: row g + 8r, column 8i
// + 2t + c. Four lanes share a row.
namespace assay::flash {

// Of the rows x and y, in turns: a shuffle takes 30 cycles.
__device__ inline float2 most_of_rows(float2 value) {
#pragma unroll
  for (int lanes = 1; lanes < 4; lanes *= 2) {
    const float x = __shfl_xor_sync(~0u, value.x, lanes), y = __shfl_xor_sync(~0u, value.y, lanes);
    value = {fmaxf(value.x, x), fmaxf(value.y, y)};
  }
  return value;
}

__device__ inline float sum_of_row(float value) {
  value += __shfl_xor_sync(~0u, value, 1);
  return value + __shfl_xor_sync(~0u, value, 2);
}

// By what a row's scores are multiplied, and what is subtracted from them: weights are
// 2^(score · scale − shift), at most 1 beside the largest score.
struct Exponent {
  float scale, shift;

  __device__ Exponent(float most, const Scale& of) {
    scale = fabsf(most) > of.beyond ? of.exact : of.usual;
    shift = __fmul_rn(most, scale);
  }

  __device__ float weight(float score) const { return exp2_fast(__fmaf_rn(score, scale, -shift)); }

  // By what weights shrink that had another largest score; 1 where it was the same.
  __device__ float shrink(float most) const {
    return exp2_fast(__fadd_rn(__fmul_rn(most, scale), -shift));
  }
};

// The weights of a block, beside the largest scores taken in. Before the block's own are, that is a
// guess that none is larger: where one is, weights are above 1, which does no harm until they come
// near the end of their format.
struct Weighing {
  Exponent exponents[2];
  float sum[2] = {0, 0};  // this thread's part of the weights' sum

  // Weighs scores [first, end). `use` gets a pair's number and its weights.
  template <int first, int end, int count, class Use>
  __device__ __forceinline__ void weigh(const float (&scores)[count], const Use& use) {
#pragma unroll
    for (int i = first; i < end; i += 2) {
      const int row = i / 2 % 2;
      const float x = exponents[row].weight(scores[i]), y = exponents[row].weight(scores[i + 1]);
      sum[row] += x;
      sum[row] += y;
      use(i / 2, x, y);
    }
  }

  // Whether a guess does, of all lanes' rows. fp16 ends at 65,504. Other weights could be larger,
  // but not their products with values: four lanes and 8192 blocks of 2^32 leave values 2^81. Never
  // of NaN, nor of scores beside none.
  template <class Element>
  __device__ bool holds() const {
    constexpr float largest_sum = std::is_same_v<Element, __half> ? 0x1p15F : 0x1p32F;
    return __all_sync(~0U, sum[0] + sum[1] <= largest_sum);
  }
};

struct Softmax {
  float most[2];          // largest score so far, but for those of guesses that held
  float sum[2] = {0, 0};  // this thread's part of the weights' sum

  // A row that has seen no key has the least score whose product with either scale is a number.
  __device__ explicit Softmax(const Scale& scale) { most[0] = most[1] = scale.least; }
  __device__ Softmax(float2 most_, float2 sum_) : most{most_.x, most_.y}, sum{sum_.x, sum_.y} {}

  // Takes in a block's scores, and returns by what the weights of earlier blocks shrink, as their
  // sum did. Eight partial results: a chain of 4 cycles an element would show.
  template <int count>
  __device__ __forceinline__ float2 raise(const float (&scores)[count], const Scale& scale) {
    float largest[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) largest[i] = scores[i];
#pragma unroll
    for (int i = 8; i < count; ++i) largest[i % 8] = fmaxf(largest[i % 8], scores[i]);
    const auto of_row = [&](int row) {
      return fmaxf(fmaxf(fmaxf(largest[2 * row], largest[2 * row + 1]),
                         fmaxf(largest[2 * row + 4], largest[2 * row + 5])),
                   most[row]);
    };
    const float2 grown = most_of_rows({of_row(0), of_row(1)});
    const float2 shrunk = {Exponent(grown.x, scale).shrink(most[0]),
                           Exponent(grown.y, scale).shrink(most[1])};
    most[0] = grown.x;
    most[1] = grown.y;
    sum[0] *= shrunk.x;
    sum[1] *= shrunk.y;
    return shrunk;
  }

  __device__ Weighing weighing(const Scale& scale) const {
    return {{Exponent(most[0], scale), Exponent(most[1], scale)}};
  }
  __device__ void take(const Weighing& block) {
    sum[0] += block.sum[0];
    sum[1] += block.sum[1];
  }

  // Takes in the rows' softmax over other keys, and returns by what this one's weighted values
  // shrink and the other's.
  struct Factors {
    float2 kept, added;
  };
  __device__ Factors join(const Softmax& other, const Scale& scale) {
    float kept[2], added[2];
#pragma unroll
    for (int row = 0; row < 2; ++row) {
      const float before = most[row];
      most[row] = fmaxf(before, other.most[row]);
      const Exponent exponent(most[row], scale);
      kept[row] = exponent.shrink(before);
      added[row] = exponent.shrink(other.most[row]);
      sum[row] = sum[row] * kept[row] + other.sum[row] * added[row];
    }
    return {{kept[0], kept[1]}, {added[0], added[1]}};
  }
};

// Two numbers in one register, the first in its lower half.
template <class Element>
__device__ inline std::uint32_t pack(float first, float second) {
  std::uint32_t packed;
  asm("cvt.rn.%3x2.f32 %0, %2, %1;"
      : "=r"(packed)
      : "f"(first), "f"(second), "C"(ElementName<Element>::text));
  return packed;
}

// Two elements as floats.
template <class Element>
__device__ __forceinline__ float2 unpack(std::uint32_t packed) {
  if constexpr (std::is_same_v<Element, __nv_bfloat16>) {
    return {__uint_as_float(packed << 16), __uint_as_float(packed & 0xFFFF0000)};
  } else {
    return __half22float2(reinterpret_cast<const __half2&>(packed));
  }
}

// The accumulator [64, n] of scores as the left operand of n / 16 steps: the registers of 16
// columns are those a thread needs of them.
template <class Element, int steps>
__device__ __forceinline__ void as_operand(std::uint32_t (&weights)[steps][4],
                                           const float (&scores)[8 * steps]) {
#pragma unroll
  for (int step = 0; step < steps; ++step) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      weights[step][i] = pack<Element>(scores[8 * step + 2 * i], scores[8 * step + 2 * i + 1]);
    }
  }
}

// Planes of weights: each is what the ones before have left, rounded. Scores are overwritten.
template <class Element, int planes, int steps>
__device__ __forceinline__ void as_operands(std::uint32_t (&weights)[planes][steps][4],
                                            float (&scores)[8 * steps]) {
#pragma unroll
  for (int plane = 0; plane < planes; ++plane) {
    as_operand<Element>(weights[plane], scores);
    if (plane == planes - 1) break;
#pragma unroll
    for (int i = 0; i < 4 * steps; ++i) {
      const float2 rounded = unpack<Element>(weights[plane][i / 4][i % 4]);
      scores[2 * i] -= rounded.x;
      scores[2 * i + 1] -= rounded.y;
    }
  }
}

// Output rows of a thread times a factor each.
template <int count>
__device__ __forceinline__ void scale_rows(float (&output)[count], float2 factors) {
#pragma unroll
  for (int i = 0; i < count; ++i) output[i] *= i / 2 % 2 == 0 ? factors.x : factors.y;
}

}  // namespace assay::flash
