#pragma once

namespace assay::norm_parts {

// A tensor [rows, n_cols] that is read; without data it is left out.
struct Stream {
  const void* data = nullptr;
  int element_size = 0;

  __host__ __device__ int bytes() const { return data == nullptr ? 0 : element_size; }
};

}  // namespace assay::norm_parts
