#pragma once

#include <cuda_runtime_api.h>

#include "compile/fused_parts/dtype.h"

namespace assay::fused {

struct GeluForward {
  Dtype dtype;
  std::int64_t rows;
  int columns;
  const void* x;
  std::int64_t x_stride;
  void* out;  // without gaps
};

// out = x Φ(x), with the normal distribution Φ(x) = (1 + erf(x / √2)) / 2.
//   Hendrycks and Gimpel 2016, "Gaussian Error Linear Units", section 2.
void launch(const GeluForward& call, cudaStream_t stream);

struct GeluBackward {
  Dtype dtype;
  std::int64_t rows;
  int columns;
  const void *x, *dout;
  std::int64_t x_stride, dout_stride;
  void* dx;  // without gaps
};

// dx = dout · (Φ(x) + x φ(x)), with the density φ(x) = exp(−x² / 2) / √(2π).
void launch(const GeluBackward& call, cudaStream_t stream);

}  // namespace assay::fused
