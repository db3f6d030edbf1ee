#pragma once

#include <cuda_runtime_api.h>

#include "compile/fused_parts/dtype.h"

namespace assay::fused {

struct CrossEntropyForward {
  Dtype dtype;
  std::int64_t rows;
  int classes;
  const void* logits;  // [rows, classes], without gaps
  const std::int64_t* targets;
  float* lse;     // [rows]: log of the sum of exp(logits)
  float* losses;  // [rows]: lse − the target's logit; NaN for a target outside of the classes
};

// Reads the logits once.
void launch(const CrossEntropyForward& call, cudaStream_t stream);

struct CrossEntropyBackward {
  Dtype dtype;
  std::int64_t rows;
  int classes;
  const void* logits;
  const std::int64_t* targets;
  const float* lse;
  const float* dloss;  // of the mean over the rows
  void* dlogits;       // like logits
};

// dlogits = (exp(logits − lse) − [class is the target]) · dloss / rows, in one pass.
void launch(const CrossEntropyBackward& call, cudaStream_t stream);

}  // namespace assay::fused
