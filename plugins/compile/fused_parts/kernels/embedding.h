#pragma once

#include <cuda_runtime_api.h>

#include "compile/fused_parts/dtype.h"

namespace assay::fused {

// Tokens of which each block looks through all.
inline constexpr std::int64_t most_tokens = 32768;

struct EmbeddingBackward {
  Dtype dtype;
  std::int64_t tokens;  // at most most_tokens
  int columns;
  const std::int64_t* token;  // [tokens]: a row of dtable
  const void* dout;           // [tokens, columns]
  std::int64_t dout_stride;
  void* dtable;  // [vocabulary, columns], without gaps, 0
};

// Adds to each row of dtable the rows of dout of its token, in the order of positions, so that
// every run gives the same.
void launch(const EmbeddingBackward& call, cudaStream_t stream);

}  // namespace assay::fused
