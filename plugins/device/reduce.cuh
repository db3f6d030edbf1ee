#pragma once

namespace assay::device {

inline constexpr int warp = 32;

// In every lane the sum over its warp, all of whose lanes must call it.
__device__ inline float sum_over_warp(float value) {
  for (int step = warp / 2; step > 0; step /= 2) value += __shfl_xor_sync(~0u, value, step);
  return value;
}

// In every thread the sum over a block of `threads` threads, a multiple of 32 along x, all of which
// must call it. Before the next call of the block lies a __syncthreads().
template <int threads>
__device__ float sum_over_block(float value) {
  static_assert(threads % warp == 0);
  __shared__ float sums[threads / warp];
  value = sum_over_warp(value);
  if (threadIdx.x % warp == 0) sums[threadIdx.x / warp] = value;
  __syncthreads();
  value = 0;
  for (const float sum : sums) value += sum;
  return value;
}

}  // namespace assay::device
