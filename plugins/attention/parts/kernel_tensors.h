#pragma once

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <assay/attention.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

// Tensors as kernels of attention take them: kernels move 16 bytes at once, so that addresses and
// strides are multiples of 16 bytes, and the last dimension is contiguous.
namespace assay::attention {

// Hopper's copy engine takes no stride of 0, as expanded tensors have, or below.
enum class Strides { any, above_zero };

inline bool is_aligned(const at::Tensor& tensor, Strides strides) {
  const std::int64_t elements = 16 / tensor.element_size();
  if (reinterpret_cast<std::uintptr_t>(tensor.const_data_ptr()) % 16 != 0) return false;
  for (int dim = 0; dim < 3; ++dim) {
    if (tensor.size(dim) <= 1) continue;
    const std::int64_t stride = tensor.stride(dim);
    if (stride % elements != 0) return false;
    if (strides == Strides::above_zero && stride <= 0) return false;
  }
  return tensor.stride(3) == 1;
}

inline at::Tensor readable(const at::Tensor& tensor, Strides strides) {
  return is_aligned(tensor, strides) ? tensor : tensor.clone(at::MemoryFormat::Contiguous);
}

// Like `tensor`, with strides that kernels can write with.
inline at::Tensor written_like(const at::Tensor& tensor, Strides strides) {
  auto made = at::empty_like(tensor);
  return is_aligned(made, strides) ? made : at::empty(tensor.sizes(), tensor.options());
}

// Operand is {address, stride of the batch, of heads, of rows}, strides in elements.
template <class Operand>
Operand input(const at::Tensor& tensor) {
  return {const_cast<void*>(tensor.const_data_ptr()), tensor.stride(0), tensor.stride(1),
          tensor.stride(2)};
}

template <class Operand>
Operand output(const at::Tensor& tensor) {
  return {tensor.mutable_data_ptr(), tensor.stride(0), tensor.stride(1), tensor.stride(2)};
}

// Shape is {batch, heads, kv_heads, queries, keys, head, causal, window, scale}, as kernels take
// it.
template <class Shape>
Shape shape_of(const AttentionInputs& in, double scale) {
  constexpr std::int64_t widest = 1 << 30;  // beyond any sequence, with room to add a position
  return {.batch = static_cast<int>(in.q.size(0)),
          .heads = static_cast<int>(in.q.size(1)),
          .kv_heads = static_cast<int>(in.k.size(1)),
          .queries = static_cast<int>(in.q.size(2)),
          .keys = static_cast<int>(in.k.size(2)),
          .head = static_cast<int>(in.q.size(3)),
          .causal = in.causal,
          .window = static_cast<int>(std::min(in.window, widest)),
          .scale = static_cast<float>(scale)};
}

// The inputs as the kernels take them: they take a row's largest score for that of the largest
// weight, so the scale is above 0. A sign, and a scale of 0, go to the queries.
struct KernelInputs {
  at::Tensor q, k, v;
  double scale, query_factor;  // q is query_factor · the inputs' q

  KernelInputs(const AttentionInputs& in, Strides strides)
      : k(readable(in.k, strides)),
        v(readable(in.v, strides)),
        scale(in.scale == 0 ? 1 : std::abs(in.scale)),
        query_factor(in.scale > 0   ? 1
                     : in.scale < 0 ? -1
                                    : 0) {
    q = readable(query_factor == 1 ? in.q : in.q * query_factor, strides);
  }
};

// What a kernel is to write. Of no keys it is written already; then, or without an element, there
// is no work.
struct OutputToWrite {
  AttentionOutput made;
  bool has_work;

  OutputToWrite(const AttentionInputs& in, Strides strides)
      : made{written_like(in.q, strides), at::empty({in.q.size(0), in.q.size(1), in.q.size(2)},
                                                    in.q.options().dtype(at::kFloat))},
        has_work(in.q.numel() > 0 && in.k.size(2) > 0) {
    if (in.k.size(2) > 0) return;
    made.out.zero_();
    made.lse.fill_(-std::numeric_limits<double>::infinity());
  }
};

struct GradientsToWrite {
  AttentionGradients made;
  bool has_work;

  GradientsToWrite(const AttentionInputs& in, Strides strides)
      : made{written_like(in.q, strides), written_like(in.k, strides), written_like(in.v, strides)},
        has_work(in.q.numel() > 0 && in.k.numel() > 0) {
    if (has_work) return;
    made.dq.zero_();
    made.dk.zero_();
    made.dv.zero_();
  }
};

}  // namespace assay::attention
