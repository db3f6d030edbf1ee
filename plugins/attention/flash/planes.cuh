#pragma once

#include <cuda_bf16.h>

#include "problem.h"

// fp32 as a sum of three bf16: each is what the ones before have left, rounded to 8 bits.
namespace assay::flash {

inline constexpr int planes_of_fp32 = 3;
inline constexpr int split_threads = 256;

// Of a tensor [batch, heads, rows, head] with heads of `padded` elements: [batch, heads, rows,
// 3, padded], zeros behind the head. Each thread has four elements of a row.
__global__ void __launch_bounds__(split_threads)
    split_in_planes(Operand from, __nv_bfloat16* planes, int heads, int rows, int head, int padded,
                    std::int64_t fours) {
  const std::int64_t thread = std::int64_t{blockIdx.x} * split_threads + threadIdx.x;
  if (thread >= fours) return;
  const int fours_of_row = padded / 4;
  const std::int64_t place = thread / fours_of_row;  // of a row among all
  const int column = static_cast<int>(thread % fours_of_row) * 4;
  const std::int64_t row = place % rows, of_batch = place / rows;
  const float* const at = static_cast<const float*>(from.data) +
                          of_batch / heads * from.batch_stride +
                          of_batch % heads * from.head_stride + row * from.row_stride + column;
  float4 rest = {0, 0, 0, 0};
  if (column < head) rest = *reinterpret_cast<const float4*>(at);
  __nv_bfloat16* const to = planes + place * planes_of_fp32 * padded + column;
#pragma unroll
  for (int plane = 0; plane < planes_of_fp32; ++plane) {
    const __nv_bfloat162 low = __floats2bfloat162_rn(rest.x, rest.y);
    const __nv_bfloat162 high = __floats2bfloat162_rn(rest.z, rest.w);
    __nv_bfloat162* const pair = reinterpret_cast<__nv_bfloat162*>(to + plane * padded);
    pair[0] = low;
    pair[1] = high;
    rest.x -= __low2float(low);
    rest.y -= __high2float(low);
    rest.z -= __low2float(high);
    rest.w -= __high2float(high);
  }
}

}  // namespace assay::flash
