#include "planes.h"

#include "attention/flash/launch.cuh"

namespace assay::flash {
namespace {

constexpr int threads = 256;

// Each thread has four elements of a row.
__global__ void __launch_bounds__(threads)
    split(Operand from, __nv_bfloat16* planes, int heads, int rows, int head, int columns,
          std::int64_t fours) {
  const std::int64_t thread = std::int64_t{blockIdx.x} * threads + threadIdx.x;
  if (thread >= fours) return;
  const int fours_of_row = columns / 4;
  const std::int64_t place = thread / fours_of_row;  // of a row among all
  const int column = static_cast<int>(thread % fours_of_row) * 4;
  const std::int64_t row = place % rows, of_batch = place / rows;
  const float* const at = static_cast<const float*>(from.data) +
                          of_batch / heads * from.batch_stride +
                          of_batch % heads * from.head_stride + row * from.row_stride + column;
  float4 rest = {0, 0, 0, 0};
  if (column < head) rest = *reinterpret_cast<const float4*>(at);
  __nv_bfloat16* const to = planes + place * planes_of_fp32 * columns + column;
#pragma unroll
  for (int plane = 0; plane < planes_of_fp32; ++plane) {
    const __nv_bfloat162 low = __floats2bfloat162_rn(rest.x, rest.y);
    const __nv_bfloat162 high = __floats2bfloat162_rn(rest.z, rest.w);
    __nv_bfloat162* const pair = reinterpret_cast<__nv_bfloat162*>(to + plane * columns);
    pair[0] = low;
    pair[1] = high;
    rest.x -= __low2float(low);
    rest.y -= __high2float(low);
    rest.z -= __low2float(high);
    rest.w -= __high2float(high);
  }
}

std::int64_t elements_of_plane(const Shape& shape, int heads, int rows) {
  return std::int64_t{shape.batch} * heads * rows * plane_columns(shape);
}

}  // namespace

int plane_columns(const Shape& shape) { return blocks_of_head(shape.head) * block_columns; }

std::int64_t bytes_of_planes(const Shape& shape, int heads, int rows) {
  return planes_of_fp32 * std::int64_t{sizeof(__nv_bfloat16)} *
         elements_of_plane(shape, heads, rows);
}

Operand split_in_planes(const Operand& from, const Shape& shape, int heads, int rows,
                        __nv_bfloat16*& planes, cudaStream_t stream) {
  const std::int64_t elements = elements_of_plane(shape, heads, rows), fours = elements / 4;
  const auto blocks = static_cast<unsigned>((fours + threads - 1) / threads);
  split<<<blocks, threads, 0, stream>>>(from, planes, heads, rows, shape.head, plane_columns(shape),
                                        fours);
  require(cudaGetLastError(), "the kernel that splits fp32 did not start");
  const std::int64_t row = planes_of_fp32 * plane_columns(shape);
  const Operand made = {planes, heads * (rows * row), rows * row, row};
  planes += planes_of_fp32 * elements;
  return made;
}

}  // namespace assay::flash
