#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace assay::fused {

// Rows of so many bytes, and how far apart they begin.
struct CopyRows {
  std::int64_t rows, bytes;
  const void* from;
  std::int64_t from_stride;
  void* to;
  std::int64_t to_stride;
};

// Whether rows begin and end at multiples of 16 bytes; launch() needs it.
bool can_launch(const CopyRows& call);
void launch(const CopyRows& call, cudaStream_t stream);

}  // namespace assay::fused
