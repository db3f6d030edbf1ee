#pragma once

#include <assay/ops.h>

namespace assay::model_step {

// Textbook attention whose backward rounds what tiled kernels round: they take the sum of dP ∘ P
// over a row's keys as that of dO ∘ O (Dao 2023, section 3.1), from the output in q's dtype. Its
// error is the same for all keys of a row, so that it does not average out in dQ and dK.
at::Tensor tiled_attention(const AttentionInputs& in);

}  // namespace assay::model_step
