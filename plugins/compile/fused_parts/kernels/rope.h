#pragma once

#include <cuda_runtime_api.h>

#include "compile/fused_parts/dtype.h"

namespace assay::fused {

// Strides in elements; d_head is contiguous.
struct Heads {
  void* data;
  std::int64_t of_batch, of_position, of_head;
};

struct RopeCall {
  Dtype dtype;
  std::int64_t batch, seq;
  int heads, d_head;
  Heads from, to;          // [batch, seq, heads, d_head]
  const float *cos, *sin;  // [seq, d_head / 2], without gaps
  bool back;               // turns by −θ, the gradient
};

// Whether pairs are aligned; launch() needs it.
bool can_launch(const RopeCall& call);

// Turns pairs (2i, 2i+1) of every head by the position's angle i. Su 2021, eq. 34.
void launch(const RopeCall& call, cudaStream_t stream);

}  // namespace assay::fused
