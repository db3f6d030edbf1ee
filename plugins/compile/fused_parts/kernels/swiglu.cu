#include "compile/fused_parts/kernels/swiglu.h"

#include <c10/cuda/CUDAException.h>

#include "compile/fused_parts/kernels/values.cuh"

namespace assay::fused {

namespace {

__device__ float sigmoid(float x) { return 1 / (1 + __expf(-x)); }

template <class Scalar, int count>
__global__ __launch_bounds__(row_threads) void fused_swiglu_forward(const SwigluForward of,
                                                                    const int blocks_of_row) {
  const auto [row, column] = place_in<count>(blocks_of_row);
  if (column >= of.columns) return;
  float gate[count], up[count], out[count];
  load(gate, static_cast<const Scalar*>(of.gate) + row * of.gate_stride + column);
  load(up, static_cast<const Scalar*>(of.up) + row * of.up_stride + column);
#pragma unroll
  for (int k = 0; k < count; ++k) out[k] = gate[k] * sigmoid(gate[k]) * up[k];
  store(static_cast<Scalar*>(of.out) + row * of.columns + column, out);
}

template <class Scalar, int count>
__global__ __launch_bounds__(row_threads) void fused_swiglu_backward(const SwigluBackward of,
                                                                     const int blocks_of_row) {
  const auto [row, column] = place_in<count>(blocks_of_row);
  if (column >= of.columns) return;
  float gate[count], up[count], dout[count], dgate[count], dup[count];
  load(gate, static_cast<const Scalar*>(of.gate) + row * of.gate_stride + column);
  load(up, static_cast<const Scalar*>(of.up) + row * of.up_stride + column);
  load(dout, static_cast<const Scalar*>(of.dout) + row * of.dout_stride + column);
#pragma unroll
  for (int k = 0; k < count; ++k) {
    const float s = sigmoid(gate[k]);
    dup[k] = dout[k] * gate[k] * s;
    dgate[k] = dout[k] * up[k] * s * (1 + gate[k] * (1 - s));
  }
  store(static_cast<Scalar*>(of.dgate) + row * of.gradient_stride + column, dgate);
  store(static_cast<Scalar*>(of.dup) + row * of.gradient_stride + column, dup);
}

}  // namespace

void launch(const SwigluForward& call, cudaStream_t stream) {
  if (call.rows == 0 || call.columns == 0) return;
  const bool wide =
      call.columns % wide_access == 0 && is_wide(call.gate, call.gate_stride, call.dtype) &&
      is_wide(call.up, call.up_stride, call.dtype) && is_wide(call.out, call.columns, call.dtype);
  with_elements(call.dtype, wide, [&](auto scalar, auto count) {
    launch_over_rows<count.number>(fused_swiglu_forward<decltype(scalar), count.number>, call,
                                   stream);
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

void launch(const SwigluBackward& call, cudaStream_t stream) {
  if (call.rows == 0 || call.columns == 0) return;
  const bool wide = call.columns % wide_access == 0 &&
                    is_wide(call.gate, call.gate_stride, call.dtype) &&
                    is_wide(call.up, call.up_stride, call.dtype) &&
                    is_wide(call.dout, call.dout_stride, call.dtype) &&
                    is_wide(call.dgate, call.gradient_stride, call.dtype) &&
                    is_wide(call.dup, call.gradient_stride, call.dtype);
  with_elements(call.dtype, wide, [&](auto scalar, auto count) {
    launch_over_rows<count.number>(fused_swiglu_backward<decltype(scalar), count.number>, call,
                                   stream);
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

}  // namespace assay::fused
