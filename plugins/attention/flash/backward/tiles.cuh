#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "attention/flash/wide/consumer.cuh"
#include "backward.cuh"
#include "launch.cuh"
#include "one_tile.cuh"

// The compiled tiles of the backward, and which serves a problem.
namespace assay::flash {

// 64 columns leave registers for the scores of 128 queries.
template <class Element, int head>
using BackwardHead = BackwardTile<Element, head, /*rows=*/(head <= 64 ? 128 : 64)>;

// Calls `use` with the tile that serves a problem.
template <class Element>
auto with_backward_tile(const Shape& shape, const auto& use) {
  if (shape.head <= 64) return use(BackwardHead<Element, 64>());
  if (shape.head <= 80) return use(BackwardHead<Element, 80>());
  if (shape.head <= 96) return use(BackwardHead<Element, 96>());
  if (shape.head <= 128) return use(BackwardHead<Element, 128>());
  return use(WideTile<Element>());
}

template <class Element, int head, int rows>
void launch_backward(BackwardTile<Element, head, rows>, const BackwardProblem& problem,
                     cudaStream_t stream) {
  using T = BackwardTile<Element, head, rows>;
  launch_kernels<T, backward<T>, backward_shared_bytes<T>>(problem, loaded_as_they_are(problem),
                                                           stream);
}

template <class T, class Shared>
void launch_one_tile(const BackwardProblem& problem, const Loaded& loaded, cudaStream_t stream) {
  launch_kernels<T, backward_of_one_tile<T, Shared>, static_cast<int>(sizeof(Shared))>(
      problem, loaded, stream);
}

template <class Element>
void launch_backward(WideTile<Element>, const BackwardProblem& problem, cudaStream_t stream) {
  using T = WideTile<Element>;
  launch_one_tile<T, WideShared<T>>(problem, loaded_as_they_are(problem), stream);
}

// One file a format.
void backward_bf16(const BackwardProblem& problem, cudaStream_t stream);
void backward_fp16(const BackwardProblem& problem, cudaStream_t stream);
void backward_fp32(const BackwardProblem& problem, cudaStream_t stream);
std::int64_t backward_workspace_of_fp32(const Shape& shape, bool in_turns);

}  // namespace assay::flash
