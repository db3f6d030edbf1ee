#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "attention/flash/instructions.cuh"
#include "problem.h"

// From sums of dS K to dQ.
namespace assay::flash {

inline constexpr int eight = 8;  // columns

__device__ inline std::int64_t offset(const Operand& operand, int batch, int head, int row) {
  return batch * operand.batch_stride + head * operand.head_stride + row * operand.row_stride;
}

__device__ inline void write_eight(float* to, const float (&numbers)[eight]) {
  auto* const fours = reinterpret_cast<float4*>(to);
  fours[0] = make_float4(numbers[0], numbers[1], numbers[2], numbers[3]);
  fours[1] = make_float4(numbers[4], numbers[5], numbers[6], numbers[7]);
}
template <class Element>
__device__ void write_eight(Element* to, const float (&numbers)[eight]) {
  *reinterpret_cast<uint4*>(to) =
      make_uint4(pack<Element>(numbers[0], numbers[1]), pack<Element>(numbers[2], numbers[3]),
                 pack<Element>(numbers[4], numbers[5]), pack<Element>(numbers[6], numbers[7]));
}

// dQ = scale · sums of eight columns of rows g and g + 8 of 16: what four lanes have added, side by
// side in `sums`. `upper` is row g's place; the other may be left out.
template <class Element>
__device__ __forceinline__ void finish_eight(const float4* sums, Element* upper,
                                             std::int64_t row_stride, bool has_lower, float scale) {
  float numbers[2][eight];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float4 four = __ldcg(sums + i);
    numbers[0][2 * i] = four.x * scale;
    numbers[0][2 * i + 1] = four.y * scale;
    numbers[1][2 * i] = four.z * scale;
    numbers[1][2 * i + 1] = four.w * scale;
  }
  write_eight(upper, numbers[0]);
  if (has_lower) write_eight(upper + 8 * row_stride, numbers[1]);
}

}  // namespace assay::flash
