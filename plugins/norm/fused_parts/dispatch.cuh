#pragma once

#include "kernels.h"
#include "launch.cuh"
#include "values.cuh"

// From dtypes and addresses to kernels.
namespace assay::norm_parts {

// Elements of a thread. Where a kernel keeps most for each, more of them leave it more registers
// for each, since fewer threads share a multiprocessor.
inline constexpr int elements = 16;
inline constexpr int many_elements = 32;

inline int size_of(Dtype dtype) { return dtype == Dtype::fp32 ? 4 : 2; }

// Whether every row of the tensor begins at a multiple of 16 bytes.
inline bool aligned(const void* data, Dtype dtype, int n_cols) {
  constexpr int bytes = 16;
  return reinterpret_cast<std::uintptr_t>(data) % bytes == 0 &&
         n_cols * size_of(dtype) % bytes == 0;
}

template <class Call>
cudaError_t with_scalar(Dtype dtype, const Call& call) {
  switch (dtype) {
    case Dtype::bf16:
      return call(__nv_bfloat16());
    case Dtype::fp16:
      return call(__half());
    default:
      return call(float());
  }
}

inline Need need_of(const Size& size, int elements, int bytes_a_column, bool sums_columns) {
  return {.rows = size.rows,
          .n_cols = size.n_cols,
          .eps = size.eps,
          .elements = elements,
          .bytes_a_column = bytes_a_column,
          .sums_columns = sums_columns};
}

}  // namespace assay::norm_parts
