#include "compile/fused_parts/kernels/gelu.h"

#include <c10/cuda/CUDAException.h>

#include "compile/fused_parts/kernels/values.cuh"

namespace assay::fused {

namespace {

constexpr float root_of_half = 0.70710678f;
constexpr float density_at_0 = 0.39894228f;  // 1 / √(2π)

__device__ float normal_distribution(float x) { return 0.5f * (1 + erff(x * root_of_half)); }

template <class Scalar, int count>
__global__ __launch_bounds__(row_threads) void fused_gelu_forward(const GeluForward of,
                                                                  const int blocks_of_row) {
  const auto [row, column] = place_in<count>(blocks_of_row);
  if (column >= of.columns) return;
  float x[count], out[count];
  load(x, static_cast<const Scalar*>(of.x) + row * of.x_stride + column);
#pragma unroll
  for (int k = 0; k < count; ++k) out[k] = x[k] * normal_distribution(x[k]);
  store(static_cast<Scalar*>(of.out) + row * of.columns + column, out);
}

template <class Scalar, int count>
__global__ __launch_bounds__(row_threads) void fused_gelu_backward(const GeluBackward of,
                                                                   const int blocks_of_row) {
  const auto [row, column] = place_in<count>(blocks_of_row);
  if (column >= of.columns) return;
  float x[count], dout[count], dx[count];
  load(x, static_cast<const Scalar*>(of.x) + row * of.x_stride + column);
  load(dout, static_cast<const Scalar*>(of.dout) + row * of.dout_stride + column);
#pragma unroll
  for (int k = 0; k < count; ++k) {
    const float density = density_at_0 * __expf(-0.5f * x[k] * x[k]);
    dx[k] = dout[k] * (normal_distribution(x[k]) + x[k] * density);
  }
  store(static_cast<Scalar*>(of.dx) + row * of.columns + column, dx);
}

}  // namespace

void launch(const GeluForward& call, cudaStream_t stream) {
  if (call.rows == 0 || call.columns == 0) return;
  const bool wide = call.columns % wide_access == 0 && is_wide(call.x, call.x_stride, call.dtype) &&
                    is_wide(call.out, call.columns, call.dtype);
  with_elements(call.dtype, wide, [&](auto scalar, auto count) {
    launch_over_rows<count.number>(fused_gelu_forward<decltype(scalar), count.number>, call,
                                   stream);
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

void launch(const GeluBackward& call, cudaStream_t stream) {
  if (call.rows == 0 || call.columns == 0) return;
  const bool wide = call.columns % wide_access == 0 && is_wide(call.x, call.x_stride, call.dtype) &&
                    is_wide(call.dout, call.dout_stride, call.dtype) &&
                    is_wide(call.dx, call.columns, call.dtype);
  with_elements(call.dtype, wide, [&](auto scalar, auto count) {
    launch_over_rows<count.number>(fused_gelu_backward<decltype(scalar), count.number>, call,
                                   stream);
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

}  // namespace assay::fused
