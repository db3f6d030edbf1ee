#pragma once

#include <algorithm>

#include "dispatch.cuh"
#include "forward.cuh"

namespace assay::norm_parts {

// Blocks end after a few rows and others follow as multiprocessors become free, so that all work in
// one narrow part of memory and none is left behind. Rows of a chunk together read so many bytes a
// column that reading weight and bias does not count; where that takes too many rows blocks stay.
// Measured: docs/kernels/norms.md.
template <bool centred>
Filling forward_filling(const Need& need, Access access) {
  Filling filling = {.threads = 256, .blocks = 4, .ring_bytes = 96 << 10};
  filling.chunk = std::max(1, 8 / need.bytes_a_column);
  if constexpr (!centred) return filling;
  filling.shared_vectors = shares_weights(centred, access) ? 2 : 0;
  // A row of more needs a cluster, which blocks that stay would leave parts of the chip without.
  if (access == Access::aligned && need.bytes_a_column == 2 && need.n_cols <= largest_segment) {
    filling.blocks = need.n_cols > largest_segment / 2 ? 4 : 3;
    filling.ring_bytes = 32 << 10;
    filling.chunk = 0;
    return filling;
  }
  const bool is_wide = need.n_cols > largest_segment / 4;
  filling.threads = need.bytes_a_column > 2 ? 128 : 256;
  if (!is_wide) filling.ring_bytes = 64 << 10;
  filling.chunk = std::max(2, (is_wide ? 32 : 16) / need.bytes_a_column);
  return filling;
}

template <bool centred>
cudaError_t Kernels<centred>::forward(const ForwardCall& call, const Machine& machine,
                                      cudaStream_t stream) {
  const bool adds = call.addend.data != nullptr;
  const int size = size_of(call.x.dtype);
  const Need need =
      need_of(call.size, elements, size, size + (adds ? size_of(call.addend.dtype) : 0), false);
  const Access access = access_of(call.size.n_cols, size);
  const auto made = plan(need, forward_filling<centred>(need, access), machine);
  if (!made) return cudaErrorInvalidValue;
  const auto run = [&]<class Scalar, class Addend>(Scalar, Addend) {
    const Forward<Scalar, Addend> of = {.x = static_cast<const Scalar*>(call.x.data),
                                        .addend = static_cast<const Addend*>(call.addend.data),
                                        .weight = call.weight,
                                        .bias = call.bias,
                                        .out = static_cast<Scalar*>(call.out),
                                        .sum = static_cast<Scalar*>(call.sum)};
    auto kernel = norm_parts::forward<Scalar, Addend, centred, Access::aligned>;
    if constexpr (std::is_same_v<Scalar, Addend>) {
      if (access == Access::askew)
        kernel = norm_parts::forward<Scalar, Addend, centred, Access::askew>;
    } else {
      if (call.size.n_cols % width<Addend> != 0) return cudaErrorInvalidValue;
    }
    return launch(kernel, *made, stream, of, made->layout);
  };
  return with_scalar(call.x.dtype, [&]<class Scalar>(Scalar scalar) {
    if (!adds || call.addend.dtype == call.x.dtype) return run(scalar, scalar);
    if constexpr (sizeof(Scalar) == sizeof(float)) {
      if (call.addend.dtype == Dtype::bf16) return run(scalar, __nv_bfloat16());
      return run(scalar, __half());
    } else {
      return cudaErrorInvalidValue;
    }
  });
}

}  // namespace assay::norm_parts
