#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "typed.h"

namespace assay::norm_parts {

// How a thread reaches the elements of a row.
enum class Access {
  bulk,     // 16 bytes at a time, from rows that the copy engine brings to shared memory
  scalars,  // one at a time, where addresses or n_cols allow no more
};

// So many neighbouring elements are read or written by one access.
template <class Scalar, Access access>
inline constexpr int width = access == Access::scalars ? 1 : 16 / static_cast<int>(sizeof(Scalar));

template <class Scalar, int n>
struct alignas(n * sizeof(Scalar)) Values {
  Scalar at[n];
};

template <int n, class Scalar>
__device__ Values<Scalar, n> values_at(const Scalar* from) {
  return *reinterpret_cast<const Values<Scalar, n>*>(from);
}

template <int n, class Scalar>
__device__ void read(float* values, const Scalar* from) {
  const auto read = values_at<n>(from);
#pragma unroll
  for (int i = 0; i < n; ++i) values[i] = static_cast<float>(read.at[i]);
}

template <int n, class Scalar>
__device__ void write(Scalar* to, const float* values) {
  Values<Scalar, n> written;
#pragma unroll
  for (int i = 0; i < n; ++i) written.at[i] = static_cast<Scalar>(values[i]);
  *reinterpret_cast<Values<Scalar, n>*>(to) = written;
}

// Of gradients of weights and biases, whose dtype may be another than the rows'.
__device__ inline void store(const Typed& to, int at, float value) {
  switch (to.dtype) {
    case Dtype::bf16:
      static_cast<__nv_bfloat16*>(to.data)[at] = __float2bfloat16(value);
      break;
    case Dtype::fp16:
      static_cast<__half*>(to.data)[at] = __float2half(value);
      break;
    default:
      static_cast<float*>(to.data)[at] = value;
  }
}

}  // namespace assay::norm_parts
