#pragma once

#include <ATen/core/Tensor.h>

#include <memory>

#include "compile/fused_parts/beside.h"

namespace assay::fused {

// The rows of a table for tokens as Ops::embedding has them; the gradient of the table is made by
// one kernel and is the same in every run.
bool takes_embedding(const at::Tensor& tokens, const at::Tensor& table);
// A table may also be the weight of a product, whose gradient is joined first.
at::Tensor embedded(const at::Tensor& tokens, const at::Tensor& table,
                    const std::shared_ptr<Beside>& beside);

}  // namespace assay::fused
