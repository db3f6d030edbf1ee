#include "compile/fused_parts/kernels/rope.h"

#include <c10/cuda/CUDAException.h>

#include "compile/fused_parts/kernels/values.cuh"

namespace assay::fused {

namespace {

constexpr int rope_threads = 128;

template <class Scalar>
__device__ Scalar* position_of(const Heads& heads, std::int64_t batch, std::int64_t position) {
  return static_cast<Scalar*>(heads.data) + batch * heads.of_batch + position * heads.of_position;
}

// A block for each position of each sequence. count: of elements, even.
template <class Scalar, int count>
__global__ __launch_bounds__(rope_threads) void fused_rope(const RopeCall of) {
  const std::int64_t batch = blockIdx.x / of.seq;
  const std::int64_t position = blockIdx.x % of.seq;
  const auto* from = position_of<const Scalar>(of.from, batch, position);
  auto* to = position_of<Scalar>(of.to, batch, position);
  const float* all_cos = of.cos + position * (of.d_head / 2);
  const float* all_sin = of.sin + position * (of.d_head / 2);
  const int in_head = of.d_head / count;
  for (int i = static_cast<int>(threadIdx.x); i < of.heads * in_head; i += rope_threads) {
    const int head = i / in_head;
    const int first = (i - head * in_head) * count;
    float x[count], y[count], cos[count / 2], sin[count / 2];
    load(x, from + head * of.from.of_head + first);
    load(cos, all_cos + first / 2);
    load(sin, all_sin + first / 2);
#pragma unroll
    for (int k = 0; k < count / 2; ++k) {
      const float s = of.back ? -sin[k] : sin[k];
      y[2 * k] = x[2 * k] * cos[k] - x[2 * k + 1] * s;
      y[2 * k + 1] = x[2 * k] * s + x[2 * k + 1] * cos[k];
    }
    store(to + head * of.to.of_head + first, y);
  }
}

// Whether accesses of so many elements are aligned.
bool takes(const Heads& heads, Dtype dtype, int count) {
  const int bytes = count * bytes_of(dtype) < 16 ? count * bytes_of(dtype) : 16;
  const auto fits = [&](std::int64_t stride) { return stride * bytes_of(dtype) % bytes == 0; };
  return reinterpret_cast<std::uintptr_t>(heads.data) % static_cast<std::uintptr_t>(bytes) == 0 &&
         fits(heads.of_batch) && fits(heads.of_position) && fits(heads.of_head);
}

}  // namespace

bool can_launch(const RopeCall& call) {
  return call.d_head % 2 == 0 && takes(call.from, call.dtype, 2) && takes(call.to, call.dtype, 2);
}

void launch(const RopeCall& call, cudaStream_t stream) {
  const std::int64_t positions = call.batch * call.seq;
  if (positions == 0 || call.heads == 0) return;
  const bool wide = call.d_head % wide_access == 0 && takes(call.from, call.dtype, wide_access) &&
                    takes(call.to, call.dtype, wide_access) &&
                    reinterpret_cast<std::uintptr_t>(call.cos) % 16 == 0 &&
                    reinterpret_cast<std::uintptr_t>(call.sin) % 16 == 0;
  const auto blocks = static_cast<unsigned>(positions);
  with_elements<2>(call.dtype, wide, [&](auto scalar, auto count) {
    fused_rope<decltype(scalar), count.number><<<blocks, rope_threads, 0, stream>>>(call);
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

}  // namespace assay::fused
