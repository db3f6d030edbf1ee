#pragma once

#include <assay/norm.h>

#include <utility>

namespace assay::fused {

// RMSNorm with its gradients in kernels that read what they are given once. Under autocast the
// residual stream stays in fp32, as autocast has it, and what leaves a norm has the products'
// dtype, in which they take it anyway; so has the gradient that goes back into a product.
bool takes_norm(const NormInputs& in);
at::Tensor norm(const NormInputs& in);
// (residual, x) → (residual + x, norm of it).
bool takes_add_norm(const at::Tensor& residual, const NormInputs& in);
std::pair<at::Tensor, at::Tensor> add_norm(const at::Tensor& residual, const NormInputs& in);

}  // namespace assay::fused
