#pragma once

#include <cuda_runtime_api.h>

#include "attention/flash/problem.h"

namespace assay::flash {

struct BackwardProblem {
  Shape shape;
  Operand q, k, v, out, dout;
  Operand dq, dk, dv;  // written
  Format format;
  const float* lse;  // [batch, heads, queries], of the forward
  bool in_turns;     // the sums of dQ are added in a fixed order: equal to the bit in every run
  void* workspace;   // backward_workspace_bytes() on the device, of any content
};

// What a launch needs of the device's memory beside its tensors: of fp32 also q, k, v and dO in
// planes.
std::int64_t backward_workspace_bytes(const Shape& shape, Format format, bool in_turns);

// Computes dq, dk and dv on `stream`, on a device of compute capability 9.0. The head is a multiple
// of 8 up to 256, of fp32 up to 128; addresses and strides are multiples of 16 bytes. Throws what
// the driver refuses.
void backward(const BackwardProblem& problem, cudaStream_t stream);

}  // namespace assay::flash
