#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "attention/flash/instructions.cuh"
#include "problem.h"

// From sums of dS K to dQ.
namespace assay::flash {

__device__ inline std::int64_t offset(const Operand& operand, int batch, int head, int row) {
  return batch * operand.batch_stride + head * operand.head_stride + row * operand.row_stride;
}

// 4 or 8.
template <class Element, int count>
__device__ __forceinline__ void write_numbers(Element* to, const float (&numbers)[count]) {
  if constexpr (std::is_same_v<Element, float>) {
#pragma unroll
    for (int i = 0; i < count; i += 4) {
      *reinterpret_cast<float4*>(to + i) =
          make_float4(numbers[i], numbers[i + 1], numbers[i + 2], numbers[i + 3]);
    }
  } else {
    std::uint32_t pairs[count / 2];
#pragma unroll
    for (int i = 0; i < count / 2; ++i) {
      pairs[i] = pack<Element>(numbers[2 * i], numbers[2 * i + 1]);
    }
    if constexpr (count == 4) {
      *reinterpret_cast<uint2*>(to) = make_uint2(pairs[0], pairs[1]);
    } else {
      *reinterpret_cast<uint4*>(to) = make_uint4(pairs[0], pairs[1], pairs[2], pairs[3]);
    }
  }
}

// dQ = scale · sums of some columns of rows g and g + 8 of 16: what lanes side by side have added.
// `upper` is row g's place; the other may be left out.
template <int columns, class Element>
__device__ __forceinline__ void finish_columns(const float4* sums, Element* upper,
                                               std::int64_t row_stride, bool has_lower,
                                               float scale) {
  float numbers[2][columns];
#pragma unroll
  for (int i = 0; i < columns / 2; ++i) {
    const float4 four = __ldcg(sums + i);
    numbers[0][2 * i] = four.x * scale;
    numbers[0][2 * i + 1] = four.y * scale;
    numbers[1][2 * i] = four.z * scale;
    numbers[1][2 * i + 1] = four.w * scale;
  }
  write_numbers(upper, numbers[0]);
  if (has_lower) write_numbers(upper + 8 * row_stride, numbers[1]);
}

}  // namespace assay::flash
