#pragma once

#include <ATen/core/Tensor.h>

namespace assay::fused {

// RoPE in the projection's layout: x, cos and sin as Ops::rope has them, the result [batch, seq,
// heads, d_head] without gaps. Where x is a result of a product, its gradient is written where the
// product gathers them.
bool takes_rope(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin);
at::Tensor rope(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin);

}  // namespace assay::fused
