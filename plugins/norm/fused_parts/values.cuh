#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

#include "typed.h"

namespace assay::norm_parts {

// So many neighbouring elements have 16 bytes.
template <class Scalar>
inline constexpr int width = 16 / static_cast<int>(sizeof(Scalar));

// Neighbouring elements as they lie in memory: narrow ones take fewer registers.
template <class Scalar, int n>
struct alignas(n * sizeof(Scalar)) Packed {
  static constexpr int count = n * static_cast<int>(sizeof(Scalar)) / 4;
  std::uint32_t words[count];
};

// From memory that the kernel does not write.
template <class Scalar, int n>
__device__ Packed<Scalar, n> read_only(const Scalar* from) {
  Packed<Scalar, n> values;
  if constexpr (sizeof(values) == sizeof(uint4)) {
    const uint4 read = __ldg(reinterpret_cast<const uint4*>(from));
    values.words[0] = read.x;
    values.words[1] = read.y;
    values.words[2] = read.z;
    values.words[3] = read.w;
  } else {
    static_assert(sizeof(values) == sizeof(uint2));
    const uint2 read = __ldg(reinterpret_cast<const uint2*>(from));
    values.words[0] = read.x;
    values.words[1] = read.y;
  }
  return values;
}

template <class Scalar>
__device__ void unpack_word(float* values, std::uint32_t word) {
  if constexpr (sizeof(Scalar) == sizeof(float)) {
    values[0] = __uint_as_float(word);
  } else if constexpr (std::is_same_v<Scalar, __nv_bfloat16>) {
    values[0] = __uint_as_float(word << 16);
    values[1] = __uint_as_float(word & 0xffff0000U);
  } else {
    const float2 both = __half22float2(*reinterpret_cast<const __half2*>(&word));
    values[0] = both.x;
    values[1] = both.y;
  }
}

template <class Scalar, int n>
__device__ void unpack(float (&values)[n], const Packed<Scalar, n>& from) {
#pragma unroll
  for (int i = 0; i < from.count; ++i)
    unpack_word<Scalar>(values + i * n / from.count, from.words[i]);
}

template <class Scalar, int n>
__device__ Packed<Scalar, n> pack(const float (&values)[n]) {
  Packed<Scalar, n> made;
#pragma unroll
  for (int i = 0; i < made.count; ++i) {
    if constexpr (sizeof(Scalar) == sizeof(float)) {
      made.words[i] = __float_as_uint(values[i]);
    } else if constexpr (std::is_same_v<Scalar, __nv_bfloat16>) {
      const auto both = __floats2bfloat162_rn(values[2 * i], values[2 * i + 1]);
      made.words[i] = *reinterpret_cast<const std::uint32_t*>(&both);
    } else {
      const auto both = __floats2half2_rn(values[2 * i], values[2 * i + 1]);
      made.words[i] = *reinterpret_cast<const std::uint32_t*>(&both);
    }
  }
  return made;
}

// What is computed from the values is computed anew behind this, so that it takes no registers
// until then.
template <class Scalar, int n>
__device__ void forget_uses(Packed<Scalar, n>& of) {
#pragma unroll
  for (int i = 0; i < of.count; ++i) asm volatile("" : "+r"(of.words[i]));
}

// Of gradients of weights and biases, whose dtype may be another than the rows'.
__device__ inline void store(const Typed& to, int at, float value) {
  switch (to.dtype) {
    case Dtype::bf16:
      static_cast<__nv_bfloat16*>(to.data)[at] = __float2bfloat16(value);
      break;
    case Dtype::fp16:
      static_cast<__half*>(to.data)[at] = __float2half(value);
      break;
    default:
      static_cast<float*>(to.data)[at] = value;
  }
}

}  // namespace assay::norm_parts
