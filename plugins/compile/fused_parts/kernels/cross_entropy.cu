#include "compile/fused_parts/kernels/cross_entropy.h"

#include <c10/cuda/CUDAException.h>

#include <cmath>

#include "compile/fused_parts/kernels/values.cuh"

namespace assay::fused {

namespace {

constexpr int loss_threads = 256;
constexpr int loss_warp = 32;

// The sum of exp(x) of some x, as sum · exp(largest).
struct ExpSum {
  float largest = -INFINITY;
  float sum = 0;
};

__device__ ExpSum together(const ExpSum& a, const ExpSum& b) {
  const float largest = fmaxf(a.largest, b.largest);
  if (largest == -INFINITY) return a;
  return {largest, a.sum * __expf(a.largest - largest) + b.sum * __expf(b.largest - largest)};
}

__device__ ExpSum over_warp(ExpSum own) {
  for (int step = loss_warp / 2; step > 0; step /= 2) {
    own = together(own,
                   {__shfl_xor_sync(~0u, own.largest, step), __shfl_xor_sync(~0u, own.sum, step)});
  }
  return own;
}

template <int count>
__device__ void add(ExpSum& to, const float (&x)[count]) {
  float largest = to.largest;
#pragma unroll
  for (int k = 0; k < count; ++k) largest = fmaxf(largest, x[k]);
  if (largest == -INFINITY) return;
  float sum = to.sum * __expf(to.largest - largest);
#pragma unroll
  for (int k = 0; k < count; ++k) sum += __expf(x[k] - largest);
  to = {largest, sum};
}

// A block for each row.
template <class Scalar, int count>
__global__ __launch_bounds__(loss_threads) void fused_cross_entropy_forward(
    const CrossEntropyForward of) {
  __shared__ ExpSum of_warps[loss_threads / loss_warp];
  const std::int64_t row = blockIdx.x;
  const auto* logits = static_cast<const Scalar*>(of.logits) + row * of.classes;
  const int thread = static_cast<int>(threadIdx.x);
  ExpSum own;
  for (int i = thread * count; i < of.classes; i += loss_threads * count) {
    float x[count];
    load(x, logits + i);
    add(own, x);
  }
  own = over_warp(own);
  if (thread % loss_warp == 0) of_warps[thread / loss_warp] = own;
  __syncthreads();
  if (thread != 0) return;
  for (int i = 1; i < loss_threads / loss_warp; ++i) own = together(own, of_warps[i]);
  const float lse = own.largest + logf(own.sum);
  const std::int64_t target = of.targets[row];
  const bool known = target >= 0 && target < of.classes;
  of.lse[row] = lse;
  of.losses[row] = known ? lse - to_float(logits[target]) : NAN;
}

template <class Scalar, int count>
__global__ __launch_bounds__(loss_threads) void fused_cross_entropy_backward(
    const CrossEntropyBackward of) {
  const std::int64_t row = blockIdx.x;
  const auto* logits = static_cast<const Scalar*>(of.logits) + row * of.classes;
  auto* dlogits = static_cast<Scalar*>(of.dlogits) + row * of.classes;
  const float lse = of.lse[row];
  const float factor = *of.dloss / static_cast<float>(of.rows);
  const std::int64_t target = of.targets[row];
  for (int i = static_cast<int>(threadIdx.x) * count; i < of.classes; i += loss_threads * count) {
    float x[count];
    load(x, logits + i);
#pragma unroll
    for (int k = 0; k < count; ++k) {
      x[k] = (__expf(x[k] - lse) - (i + k == target ? 1.f : 0.f)) * factor;
    }
    store(dlogits + i, x);
  }
}

}  // namespace

void launch(const CrossEntropyForward& call, cudaStream_t stream) {
  if (call.rows == 0) return;
  const bool wide =
      call.classes % wide_access == 0 && is_wide(call.logits, call.classes, call.dtype);
  const auto blocks = static_cast<unsigned>(call.rows);
  with_elements(call.dtype, wide, [&](auto scalar, auto count) {
    fused_cross_entropy_forward<decltype(scalar), count.number>
        <<<blocks, loss_threads, 0, stream>>>(call);
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

void launch(const CrossEntropyBackward& call, cudaStream_t stream) {
  if (call.rows == 0) return;
  const bool wide = call.classes % wide_access == 0 &&
                    is_wide(call.logits, call.classes, call.dtype) &&
                    is_wide(call.dlogits, call.classes, call.dtype);
  const auto blocks = static_cast<unsigned>(call.rows);
  with_elements(call.dtype, wide, [&](auto scalar, auto count) {
    fused_cross_entropy_backward<decltype(scalar), count.number>
        <<<blocks, loss_threads, 0, stream>>>(call);
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

}  // namespace assay::fused
