#include "compile/fused_parts/kernels/copy_rows.h"

#include <c10/cuda/CUDAException.h>

namespace assay::fused {

namespace {

constexpr int copy_threads = 128;
constexpr std::int64_t copied_together = sizeof(uint4);

__global__ __launch_bounds__(copy_threads) void fused_copy_rows(const CopyRows of) {
  const std::int64_t row = blockIdx.x;
  const auto* from =
      reinterpret_cast<const uint4*>(static_cast<const char*>(of.from) + row * of.from_stride);
  auto* to = reinterpret_cast<uint4*>(static_cast<char*>(of.to) + row * of.to_stride);
  const int accesses = static_cast<int>(of.bytes / copied_together);
  for (int i = static_cast<int>(threadIdx.x); i < accesses; i += copy_threads) to[i] = from[i];
}

}  // namespace

bool can_launch(const CopyRows& call) {
  const auto fits = [](std::int64_t bytes) { return bytes % copied_together == 0; };
  return fits(reinterpret_cast<std::intptr_t>(call.from)) &&
         fits(reinterpret_cast<std::intptr_t>(call.to)) && fits(call.bytes) &&
         fits(call.from_stride) && fits(call.to_stride);
}

void launch(const CopyRows& call, cudaStream_t stream) {
  if (call.rows == 0 || call.bytes == 0) return;
  fused_copy_rows<<<static_cast<unsigned>(call.rows), copy_threads, 0, stream>>>(call);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

}  // namespace assay::fused
