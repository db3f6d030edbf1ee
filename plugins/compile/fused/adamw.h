#pragma once

#include <assay/ops.h>

#include <functional>

namespace assay::fused {

// AdamW with kernels of its own for fp32 parameters and moments on a GPU, gradients in fp32, bf16
// or fp16 and copies in bf16 or fp16, all contiguous. Leaves what is otherwise to `others`.
void adamw(const OptimizerInputs& in, const std::function<void(const OptimizerInputs&)>& others);

}  // namespace assay::fused
