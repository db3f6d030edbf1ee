#pragma once

#include <ATen/core/Tensor.h>

namespace assay::fused {

// The rows of a table for tokens as Ops::embedding has them; the gradient of the table is made by
// one kernel and is the same in every run.
bool takes_embedding(const at::Tensor& tokens, const at::Tensor& table);
at::Tensor embedded(const at::Tensor& tokens, const at::Tensor& table);

}  // namespace assay::fused
