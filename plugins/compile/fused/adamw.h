#pragma once

#include <assay/ops.h>

#include <functional>

#include "compile/fused_parts/finished_weights.h"

namespace assay::fused {

// AdamW with kernels of its own for fp32 parameters and moments on a GPU, gradients in fp32, bf16
// or fp16 and copies in bf16 or fp16, all contiguous. Leaves what is otherwise to `others`. In a
// capture updates of finished weights run beside the backward, where nothing that all gradients
// decide holds them back: no limit of their norm, no loss scale.
void adamw(const OptimizerInputs& in, FinishedWeights& finished,
           const std::function<void(const OptimizerInputs&)>& others);

}  // namespace assay::fused
