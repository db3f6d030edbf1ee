#include "compile/fused_parts/kernels/embedding.h"

#include <c10/cuda/CUDAException.h>

#include "compile/fused_parts/kernels/values.cuh"

namespace assay::fused {

namespace {

constexpr int embedding_threads = 128;

// A block for each position. The first one of a token sums for all of them, its threads some
// columns each; which they are is found by the block together, embedding_threads positions at a
// time.
template <class Scalar, int count>
__global__ __launch_bounds__(embedding_threads) void fused_embedding_backward(
    const EmbeddingBackward of) {
  __shared__ int found[embedding_threads / 32];
  const int thread = static_cast<int>(threadIdx.x);
  const auto own = static_cast<std::int64_t>(blockIdx.x);
  const std::int64_t token = of.token[own];
  bool earlier = false;
  for (std::int64_t i = thread; i < own; i += embedding_threads) {
    earlier = earlier || of.token[i] == token;
  }
  if (__syncthreads_or(earlier)) return;

  const auto* douts = static_cast<const Scalar*>(of.dout);
  auto* row = static_cast<Scalar*>(of.dtable) + token * of.columns;
  for (int first = 0; first < of.columns; first += embedding_threads * count) {
    const int column = first + thread * count;
    const bool inside = column < of.columns;
    float sum[count] = {};
    for (std::int64_t begin = own / embedding_threads * embedding_threads; begin < of.tokens;
         begin += embedding_threads) {
      const std::int64_t mine = begin + thread;
      const bool is_same = mine >= own && mine < of.tokens && of.token[mine] == token;
      const unsigned votes = __ballot_sync(~0u, is_same);
      if (thread % 32 == 0) found[thread / 32] = static_cast<int>(votes);
      __syncthreads();
      for (int warp = 0; warp < embedding_threads / 32; ++warp) {
        for (unsigned left = static_cast<unsigned>(found[warp]); left != 0; left &= left - 1) {
          const std::int64_t position = begin + warp * 32 + __ffs(static_cast<int>(left)) - 1;
          if (!inside) continue;
          float x[count];
          load(x, douts + position * of.dout_stride + column);
#pragma unroll
          for (int k = 0; k < count; ++k) sum[k] += x[k];
        }
      }
      __syncthreads();
    }
    if (inside) store(row + column, sum);
  }
}

}  // namespace

void launch(const EmbeddingBackward& call, cudaStream_t stream) {
  if (call.tokens == 0 || call.columns == 0) return;
  const bool wide = call.columns % wide_access == 0 &&
                    is_wide(call.dout, call.dout_stride, call.dtype) &&
                    is_wide(call.dtable, call.columns, call.dtype);
  const auto blocks = static_cast<unsigned>(call.tokens);
  with_elements(call.dtype, wide, [&](auto scalar, auto count) {
    fused_embedding_backward<decltype(scalar), count.number>
        <<<blocks, embedding_threads, 0, stream>>>(call);
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

}  // namespace assay::fused
