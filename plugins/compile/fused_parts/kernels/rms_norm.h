#pragma once

#include <cuda_runtime_api.h>

#include "compile/fused_parts/dtype.h"

namespace assay::fused {

// RMSNorm of a residual stream, y = w x r with r = (mean(x²) + eps)^(−1/2), between products whose
// dtype may be narrower than the stream's: of the stream are x, sum, weight and the gradients of
// these; of the products are addend, out and the gradients of those. All without gaps,
// [rows, columns]; the derivation is in docs/kernels/norms.md.
struct NormDtypes {
  Dtype stream, products;  // equal, or the stream in fp32
};

// Columns that a block's registers hold: where all rows begin at multiples of 16 bytes, and where
// one does not.
inline constexpr int most_wide_columns = 16384, most_single_columns = 2048;

struct RmsNormForward {
  NormDtypes dtypes;
  std::int64_t rows;
  int columns;
  float eps;
  const void* x;
  const void* addend;  // or null
  const void* weight;
  void* sum;  // x + addend, with an addend; what is normalised is this, as stored
  void* out;
  float* scale;  // [rows], r
};

void launch(const RmsNormForward& call, cudaStream_t stream);

struct RmsNormBackward {
  NormDtypes dtypes;
  std::int64_t rows;
  int columns;
  const void* x;  // as normalised
  const void* weight;
  const float* scale;
  const void* dout;
  const void* dsum;  // gradient of x from elsewhere, or null
  void* dx;          // of the stream, dsum included
  void* daddend;     // the same in the products' dtype, or null
  float* parts;      // [blocks_of_backward(), columns]
  void* dweight;
};

int blocks_of_backward(std::int64_t rows, int columns);
// Two kernels; dweight's sums have a fixed order.
void launch(const RmsNormBackward& call, cudaStream_t stream);

}  // namespace assay::fused
