#pragma once

#include <ATen/core/Tensor.h>

namespace assay::fused {

// silu(gate) · up in one kernel, and both gradients in another, which lie side by side in one
// [rows, 2 columns]: the product that made gate and up takes them as one. fp32, bf16, fp16; both of
// one dtype on one GPU.
bool takes_swiglu(const at::Tensor& gate, const at::Tensor& up);
at::Tensor swiglu(const at::Tensor& gate, const at::Tensor& up);

// x Φ(x) by one kernel, and its gradient by another. fp32, bf16, fp16 on a GPU.
bool takes_gelu(const at::Tensor& x);
at::Tensor gelu(const at::Tensor& x);

}  // namespace assay::fused
