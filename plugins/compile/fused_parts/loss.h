#pragma once

#include <ATen/core/Tensor.h>

namespace assay::fused {

// Mean cross-entropy in fp32 as Ops::loss has it, and its gradient in the logits' dtype: one pass
// over the logits each, without their probabilities.
bool takes_loss(const at::Tensor& logits, const at::Tensor& targets);
at::Tensor loss(const at::Tensor& logits, const at::Tensor& targets);

}  // namespace assay::fused
