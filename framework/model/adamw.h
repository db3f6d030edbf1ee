#pragma once

#include <assay/ops.h>

namespace assay::model {

// LibTorch's fused AdamW. It takes gradients in the parameters' dtype only: others are converted,
// some at a time.
void adamw(const OptimizerInputs& in);

// What an optimizer of one's own has in common with it:

// Root of the sum of all elements' squares, over all tensors together; a float scalar, or double if
// one of them is. At least one tensor.
at::Tensor norm_of(const std::vector<at::Tensor>& gradients);
// The scalar by which the limit multiplies the gradients, 1 where their norm is within it.
// Undefined where there is no limit.
at::Tensor limiting_factor(const OptimizerInputs& in);
// Adds 1 to the steps, 0 where found_inf is 1.
void count_step(const std::vector<at::Tensor>& steps, const at::Tensor& found_inf);

}  // namespace assay::model
