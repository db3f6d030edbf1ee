#pragma once

#include <cuda_runtime_api.h>

#include "problem.h"

namespace assay::flash {

struct Problem {
  Shape shape;
  Operand q, k, v, out;
  bool bf16;        // else fp16
  float* lse;       // [batch, heads, queries]
  void* workspace;  // workspace_bytes(shape) on the device, of any content
};

// What a launch needs of the device's memory beside its tensors.
std::int64_t workspace_bytes(const Shape& shape);

// Computes out and lse on `stream`, on a device of compute capability 9.0. The head is a multiple
// of 8 up to 128; addresses and strides are multiples of 16 bytes. Throws what the driver refuses.
void forward(const Problem& problem, cudaStream_t stream);

}  // namespace assay::flash
