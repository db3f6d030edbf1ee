#pragma once

#include "attention/flash/instructions.cuh"
#include "attention/flash/problem.h"

namespace assay::flash {

// A thread's two rows of an accumulator, times `scale`, into a tensor of fp32, two elements at a
// time. `first`: the place of its first element; rows and columns from `rows` and `columns` on are
// left out.
template <int count>
__device__ __forceinline__ void write_floats(const float (&numbers)[count], float scale,
                                             const Operand& to, Place first, int rows,
                                             int columns) {
  float* const head = static_cast<float*>(const_cast<void*>(to.data)) +
                      first.batch * to.batch_stride + first.head * to.head_stride;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = first.row + 8 * half;
    if (row >= rows) continue;
#pragma unroll
    for (int i = 0; i < count / 4; ++i) {
      const int column = 8 * i + first.column;
      if (column >= columns) continue;
      *reinterpret_cast<float2*>(head + row * to.row_stride + column) = {
          numbers[4 * i + 2 * half] * scale, numbers[4 * i + 2 * half + 1] * scale};
    }
  }
}

}  // namespace assay::flash
