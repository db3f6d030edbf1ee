#pragma once

#include <cuda_runtime_api.h>

#include "compile/fused_parts/dtype.h"

namespace assay::fused {

struct SwigluForward {
  Dtype dtype;
  std::int64_t rows;
  int columns;
  const void *gate, *up;
  std::int64_t gate_stride, up_stride;
  void* out;  // without gaps
};

// out = silu(gate) · up, silu(x) = x σ(x).
void launch(const SwigluForward& call, cudaStream_t stream);

struct SwigluBackward {
  Dtype dtype;
  std::int64_t rows;
  int columns;
  const void *gate, *up, *dout;
  std::int64_t gate_stride, up_stride, dout_stride;
  void *dgate, *dup;
  std::int64_t gradient_stride;  // of both
};

// dup = dout · silu(gate); dgate = dout · up · σ(gate) (1 + gate (1 − σ(gate))).
void launch(const SwigluBackward& call, cudaStream_t stream);

}  // namespace assay::fused
