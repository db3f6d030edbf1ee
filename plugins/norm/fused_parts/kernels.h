#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "plan.h"
#include "typed.h"

// The kernels of a norm over tensors [rows, n_cols] of any dtype, contiguous. Tensors of rows begin
// at multiples of row_alignment; their other rows may begin anywhere.
namespace assay::norm_parts {

inline constexpr int row_alignment = 16;  // bytes

inline bool is_aligned(const void* at) {
  return reinterpret_cast<std::uintptr_t>(at) % row_alignment == 0;
}

struct Size {
  std::int64_t rows = 0;
  int n_cols = 0;
  float eps = 0;
};

struct ForwardCall {
  Size size;
  Typed x;
  // In x's dtype; or in a narrower one beside an fp32 x, where its rows are aligned.
  Typed addend;
  Typed weight, bias;   // [n_cols]
  void* out = nullptr;  // in x's dtype
  void* sum = nullptr;  // x + addend, in x's dtype; with an addend
};

struct BackwardCall {
  Size size;
  Typed x;
  const void* dout = nullptr;  // in x's dtype
  const void* dsum = nullptr;  // the same; or null
  Typed weight;
  void* dx = nullptr;      // in x's dtype
  float* parts = nullptr;  // [plan's blocks, centred ? 2 : 1, n_cols]
  Typed dweight, dbias;    // [n_cols]
};

// Columns that a cluster's registers hold.
inline constexpr int most_columns = largest_cluster * largest_segment;

// Each library has these for its own norm.
template <bool centred>
struct Kernels {
  static cudaError_t forward(const ForwardCall& call, const Machine& machine, cudaStream_t stream);
  static Plan backward_plan(const BackwardCall& call, const Machine& machine);
  static cudaError_t backward(const BackwardCall& call, const Plan& plan, cudaStream_t stream);
};

}  // namespace assay::norm_parts
