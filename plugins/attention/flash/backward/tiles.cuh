#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "launch.cuh"

// The compiled tiles of the backward, and which serves a problem.
namespace assay::flash {

// 64 columns leave registers for the scores of 128 queries, 80 and 96 for weights that are not
// rounded.
template <class Element>
using BackwardHead64 = BackwardTile<Element, 64, /*rows=*/128, /*exact_weights=*/false>;
template <class Element, int head>
using BackwardWider = BackwardTile<Element, head, /*rows=*/64, /*exact_weights=*/(head < 128)>;

// Calls `use` with the tile that serves a problem.
template <class Element>
auto with_backward_tile(const Shape& shape, const auto& use) {
  if (shape.head <= 64) return use(BackwardHead64<Element>());
  if (shape.head <= 80) return use(BackwardWider<Element, 80>());
  if (shape.head <= 96) return use(BackwardWider<Element, 96>());
  return use(BackwardWider<Element, 128>());
}

// One file a format.
void backward_bf16(const BackwardProblem& problem, cudaStream_t stream);
void backward_fp16(const BackwardProblem& problem, cudaStream_t stream);
void backward_fp32(const BackwardProblem& problem, cudaStream_t stream);
std::int64_t backward_workspace_of_fp32(const Shape& shape, bool in_turns);

}  // namespace assay::flash
