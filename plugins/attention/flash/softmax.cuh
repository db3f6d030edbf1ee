#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "element_name.cuh"
#include "instructions.cuh"

// The softmax of two rows, kept while blocks of scores come by. Milakov and Gimelshein 2018,
// "Online normalizer calculation for softmax"; Dao 2023, algorithm 1.
//
// A thread of wgmma's accumulator [64, n] has rows g and g + 8 of its warp's 16, g = lane / 4, and
// of every eight columns 2t and 2t + 1, t = lane mod 4. Register 4i + 2r + c: row g + 8r, column 8i
// + 2t + c. Four lanes share a row.
namespace assay::flash {

__device__ inline float most_of_row(float value) {
  value = fmaxf(value, __shfl_xor_sync(~0u, value, 1));
  return fmaxf(value, __shfl_xor_sync(~0u, value, 2));
}

__device__ inline float sum_of_row(float value) {
  value += __shfl_xor_sync(~0u, value, 1);
  return value + __shfl_xor_sync(~0u, value, 2);
}

// A score of 2^26 and more, times the scale, is rounded by so much that 2^(the rounding) is no
// factor for a weight any more. The scale of such rows is the next power of two, with which
// products are exact: their neighbouring scores lie so far apart that all but the largest weigh
// nothing.
constexpr float rounded_beyond = 0x1p26F;

__device__ inline float exact_scale(float scale) {
  constexpr std::uint32_t mantissa = 0x7F'FFFF;
  return __uint_as_float((__float_as_uint(scale) + mantissa) & ~mantissa);
}

struct Softmax {
  float most[2] = {-INFINITY, -INFINITY};  // largest score so far · its row's scale
  float sum[2] = {0, 0};                   // this thread's part of the weights' sum

  // By what the row's scores are multiplied.
  __device__ float scale_of(int row, float scale) const {
    return fabsf(most[row]) > rounded_beyond ? exact_scale(scale) : scale;
  }

  __device__ void see(int row, float score, float scale) {
    const float exact = score * exact_scale(scale);
    most[row] = fmaxf(most[row], fabsf(exact) > rounded_beyond ? exact : score * scale);
  }

  // Replaces a block's scores by weights 2^(scale · score − most), and returns by what the weights
  // of earlier blocks shrink. Two partial results a row: a chain of 4 cycles an element would show.
  template <int count>
  __device__ __forceinline__ float2 weigh(float (&scores)[count], float scale) {
    float shrunk[2];
#pragma unroll
    for (int row = 0; row < 2; ++row) {
      float even = scores[2 * row], odd = scores[2 * row + 1];
#pragma unroll
      for (int i = 4 + 2 * row; i < count; i += 4) {
        even = fmaxf(even, scores[i]);
        odd = fmaxf(odd, scores[i + 1]);
      }
      const float before = most[row];
      see(row, most_of_row(fmaxf(even, odd)), scale);
      const float row_scale = scale_of(row, scale);
      // A row that has seen no key yet: −∞ − −∞ would not be a number.
      const float shift = most[row] == -INFINITY ? 0 : most[row];
      shrunk[row] = exp2_fast(before - shift);
      even = odd = 0;
#pragma unroll
      for (int i = 2 * row; i < count; i += 4) {
        scores[i] = exp2_fast(__fmaf_rn(scores[i], row_scale, -shift));
        scores[i + 1] = exp2_fast(__fmaf_rn(scores[i + 1], row_scale, -shift));
        even += scores[i];
        odd += scores[i + 1];
      }
      sum[row] = __fmaf_rn(sum[row], shrunk[row], even + odd);
    }
    return {shrunk[0], shrunk[1]};
  }

  // Takes in the rows' softmax over other keys, and returns by what this one's weighted values
  // shrink and the other's.
  struct Factors {
    float2 kept, added;
  };
  __device__ Factors join(const Softmax& other) {
    float kept[2], added[2];
#pragma unroll
    for (int row = 0; row < 2; ++row) {
      const float before = most[row];
      most[row] = fmaxf(before, other.most[row]);
      const float shift = most[row] == -INFINITY ? 0 : most[row];
      kept[row] = exp2_fast(before - shift);
      added[row] = exp2_fast(other.most[row] - shift);
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

// Output rows of a thread times a factor each.
template <int count>
__device__ __forceinline__ void scale_rows(float (&output)[count], float2 factors) {
#pragma unroll
  for (int i = 0; i < count; ++i) output[i] *= i / 2 % 2 == 0 ? factors.x : factors.y;
}

}  // namespace assay::flash
