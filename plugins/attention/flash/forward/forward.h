#pragma once

#include <cuda_runtime_api.h>

#include "attention/flash/problem.h"

namespace assay::flash {

struct Problem {
  Shape shape;
  Operand q, k, v, out;
  Format format;
  float* lse;       // [batch, heads, queries]
  void* workspace;  // workspace_bytes(shape, format) on the device, of any content
};

// What a launch needs of the device's memory beside its tensors: of fp32, the inputs in planes.
std::int64_t workspace_bytes(const Shape& shape, Format format);

// Computes out and lse on `stream`, on a device of compute capability 9.0. The head is a multiple
// of 8 up to 256, of fp32 to 128; addresses and strides are multiples of 16 bytes. Throws what the
// driver refuses.
void forward(const Problem& problem, cudaStream_t stream);

}  // namespace assay::flash
