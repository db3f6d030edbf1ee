#pragma once

#include <cuda_runtime.h>

#include "layout.h"
#include "values.cuh"

namespace assay::norm_parts {

struct Parts {
  const float* parts;  // [count, vectors, n_cols]
  int count;
  int vectors;  // 1, or 2 with a bias
  int n_cols;
  Typed dweight;
  Typed dbias;  // without data it is left out
};

inline constexpr int columns_of_sum = warp;

// One block a warp's width of columns, in x, and a vector, in y. Every warp adds up every 32nd
// part; then warp w adds up what they have of column w. The order is always the same.
static __global__ __launch_bounds__(largest_block) void sum_parts(const Parts of) {
  __shared__ float sums[warp][warp + 1];
  asm volatile("griddepcontrol.wait;" ::: "memory");
  const int lane = threadIdx.x % warp, of_warp = threadIdx.x / warp;
  const int column = static_cast<int>(blockIdx.x) * columns_of_sum + lane;
  const std::int64_t stride = static_cast<std::int64_t>(of.vectors) * of.n_cols;
  const float* parts = of.parts + static_cast<std::int64_t>(blockIdx.y) * of.n_cols + column;
  float sum = 0;
  if (column < of.n_cols) {
#pragma unroll 8
    for (int part = of_warp; part < of.count; part += warp) sum += parts[part * stride];
  }
  sums[of_warp][lane] = sum;
  __syncthreads();
  sum = sums[lane][of_warp];
#pragma unroll
  for (int step = warp / 2; step > 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
  const int written = static_cast<int>(blockIdx.x) * columns_of_sum + of_warp;
  const Typed& to = blockIdx.y == 0 ? of.dweight : of.dbias;
  if (lane == 0 && written < of.n_cols && to.data != nullptr) store(to, written, sum);
}

// Launched while the kernel before it still runs: that one must have said that dependents may come.
inline cudaError_t launch_sum(const Parts& parts, cudaStream_t stream) {
  cudaLaunchAttribute early = {};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(static_cast<unsigned>((parts.n_cols + columns_of_sum - 1) / columns_of_sum),
                        static_cast<unsigned>(parts.vectors));
  config.blockDim = dim3(largest_block);
  config.stream = stream;
  config.attrs = &early;
  config.numAttrs = 1;
  return cudaLaunchKernelEx(&config, sum_parts, parts);
}

}  // namespace assay::norm_parts
