#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>

#include <cstdint>

#include "compile/fused_parts/dtype.h"

// How kernels read and write elements of any dtype, and go from dtypes to template arguments.
namespace assay::fused {

// Elements that a thread takes together where addresses, strides and columns allow it.
constexpr int wide_access = 8;

__device__ inline float to_float(float x) { return x; }
__device__ inline float to_float(__nv_bfloat16 x) { return __bfloat162float(x); }
__device__ inline float to_float(__half x) { return __half2float(x); }

template <class Scalar>
__device__ Scalar from_float(float x) {
  if constexpr (sizeof(Scalar) == sizeof(float)) {
    return x;
  } else {
    return static_cast<Scalar>(x);
  }
}

template <class Scalar, int count>
struct alignas(count * sizeof(Scalar) < 16 ? count * sizeof(Scalar) : 16) Pack {
  Scalar at[count];
};

template <class Scalar, int count>
__device__ void load(float (&to)[count], const Scalar* from) {
  const auto pack = *reinterpret_cast<const Pack<Scalar, count>*>(from);
#pragma unroll
  for (int i = 0; i < count; ++i) to[i] = to_float(pack.at[i]);
}

template <class Scalar, int count>
__device__ void store(Scalar* to, const float (&from)[count]) {
  Pack<Scalar, count> pack;
#pragma unroll
  for (int i = 0; i < count; ++i) pack.at[i] = from_float<Scalar>(from[i]);
  *reinterpret_cast<Pack<Scalar, count>*>(to) = pack;
}

// Calls call(Scalar()) for the dtype.
template <class Call>
void with_scalar(Dtype dtype, const Call& call) {
  if (dtype == Dtype::bf16) {
    call(__nv_bfloat16());
  } else if (dtype == Dtype::fp16) {
    call(__half());
  } else {
    call(float());
  }
}

template <int value>
struct Constant {
  static constexpr int number = value;
};

// Calls call(Constant()) with the elements that a thread takes together: wide_access or `narrow`.
template <int narrow = 1, class Call>
void with_access(bool wide, const Call& call) {
  if (wide) {
    call(Constant<wide_access>());
  } else {
    call(Constant<narrow>());
  }
}

// Calls call(Scalar(), Constant()): with_scalar and with_access.
template <int narrow = 1, class Call>
void with_elements(Dtype dtype, bool wide, const Call& call) {
  with_scalar(dtype, [&](auto scalar) {
    with_access<narrow>(wide, [&](auto count) { call(scalar, count); });
  });
}

inline bool is_wide(const void* data, std::int64_t stride, Dtype dtype) {
  return reinterpret_cast<std::uintptr_t>(data) % 16 == 0 && stride * bytes_of(dtype) % 16 == 0;
}

// Threads of a block of kernels that launch_over_rows() launches.
constexpr int row_threads = 128;

// Launches kernel(call, blocks of a row) over [call.rows, call.columns]: each thread takes `count`
// elements of a row, once.
template <int count, class Call>
void launch_over_rows(void (*kernel)(Call, int), const Call& call, cudaStream_t stream) {
  const int blocks_of_row = (call.columns - 1) / (row_threads * count) + 1;
  const auto blocks = static_cast<unsigned>(call.rows * blocks_of_row);
  kernel<<<blocks, row_threads, 0, stream>>>(call, blocks_of_row);
}

// The first of this thread's elements; where column ≥ columns there are none.
struct RowPlace {
  std::int64_t row;
  int column;
};

template <int count>
__device__ RowPlace place_in(int blocks_of_row) {
  const int block = static_cast<int>(blockIdx.x % static_cast<unsigned>(blocks_of_row));
  return {blockIdx.x / static_cast<unsigned>(blocks_of_row),
          (block * row_threads + static_cast<int>(threadIdx.x)) * count};
}

// In every thread of a block of whole warps the sum over the block. `shared` holds a value a warp;
// two calls in a row need two of them.
__device__ inline float sum_over(float value, float* shared) {
  constexpr int warp = 32;
  for (int step = warp / 2; step > 0; step /= 2) value += __shfl_xor_sync(~0u, value, step);
  const int thread = static_cast<int>(threadIdx.x);
  if (thread % warp == 0) shared[thread / warp] = value;
  __syncthreads();
  const int warps = static_cast<int>(blockDim.x) / warp;
  value = thread % warp < warps ? shared[thread % warp] : 0;
  for (int step = warp / 2; step > 0; step /= 2) value += __shfl_xor_sync(~0u, value, step);
  return value;
}

}  // namespace assay::fused
