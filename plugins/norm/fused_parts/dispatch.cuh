#pragma once

#include <numeric>

#include "kernels.h"
#include "launch.cuh"
#include "values.cuh"

// From dtypes and addresses to kernels.
namespace assay::norm_parts {

inline int size_of(Dtype dtype) { return dtype == Dtype::fp32 ? 4 : 2; }

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

// Neighbouring rows that begin at different places within 16 bytes.
inline int classes_of(int n_cols, int element_size) {
  const int in_16_bytes = 16 / element_size;
  return in_16_bytes / std::gcd(in_16_bytes, n_cols);
}

inline Access access_of(int n_cols, int element_size) {
  return classes_of(n_cols, element_size) > 1 ? Access::askew : Access::aligned;
}

inline Need need_of(const Size& size, int elements, int element_size, int bytes_a_column,
                    bool sums_columns) {
  return {.rows = size.rows,
          .n_cols = size.n_cols,
          .eps = size.eps,
          .elements = elements,
          .classes = classes_of(size.n_cols, element_size),
          .bytes_a_column = bytes_a_column,
          .sums_columns = sums_columns};
}

}  // namespace assay::norm_parts
