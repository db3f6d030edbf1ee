#pragma once

#include <cstdint>

namespace assay::flash_portable {

// q [batch, heads, queries, head], k and v [batch, kv_heads, keys, head].
struct Shape {
  int batch, heads, kv_heads, queries, keys, head;
  bool causal;
  int window;   // 0: none; at most 2^30
  float scale;  // of the scores, above 0
};

// A tensor [batch, heads, rows, head] whose last dimension is contiguous.
struct Operand {
  void* data;
  std::int64_t batch_stride, head_stride, row_stride;  // elements
};

struct ForwardProblem {
  Shape shape;
  Operand q, k, v, out;
  float* lse;  // [batch, heads, queries]
};

struct BackwardProblem {
  Shape shape;
  Operand q, k, v, out, dout, dq, dk, dv;
  const float* lse;  // [batch, heads, queries]
  float* dots;       // [batch, heads, queries], of any content: dout · out of each query
};

}  // namespace assay::flash_portable
