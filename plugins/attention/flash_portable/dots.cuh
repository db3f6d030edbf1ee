#pragma once

#include "instructions.cuh"
#include "problem.h"

namespace assay::flash_portable {

// Eight lanes have a row: at 64 elements of 2 bytes each reads 16 bytes once.
inline constexpr int dots_lanes = 8, dots_threads = 256;
inline constexpr int dots_rows = dots_threads / dots_lanes;  // of a block

// dout · out of each query, [batch, heads, queries]: the sum of P ∘ dP over the keys.
template <class Element>
__global__ void dots_kernel(const BackwardProblem problem) {
  constexpr int at_once = 16 / static_cast<int>(sizeof(Element));
  const Shape& shape = problem.shape;
  const std::int64_t row =
      std::int64_t(blockIdx.x) * dots_rows + static_cast<int>(threadIdx.x) / dots_lanes;
  const bool there = row < std::int64_t(shape.batch) * shape.heads * shape.queries;
  float sum = 0;
  if (there) {
    const std::int64_t query = row % shape.queries, head = row / shape.queries % shape.heads,
                       batch = row / shape.queries / shape.heads;
    const auto row_of = [&](const Operand& tensor) {
      return static_cast<const Element*>(tensor.data) + batch * tensor.batch_stride +
             head * tensor.head_stride + query * tensor.row_stride;
    };
    const Element *out = row_of(problem.out), *dout = row_of(problem.dout);
    for (int i = static_cast<int>(threadIdx.x) % dots_lanes * at_once; i < shape.head;
         i += dots_lanes * at_once) {
      Element a[at_once], b[at_once];
      reinterpret_cast<float4&>(a) = load_global(out + i, true);
      reinterpret_cast<float4&>(b) = load_global(dout + i, true);
#pragma unroll
      for (int j = 0; j < at_once; ++j) sum += static_cast<float>(a[j]) * static_cast<float>(b[j]);
    }
  }
#pragma unroll
  for (int mask = dots_lanes / 2; mask > 0; mask /= 2) sum += from_lane_xor(sum, mask);
  if (there && threadIdx.x % dots_lanes == 0) store_global(problem.dots + row, sum);
}

}  // namespace assay::flash_portable
