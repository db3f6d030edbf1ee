#pragma once

#include <assay/ops.h>

namespace assay::model {

// The plugin as an operation of a model. One with a backward of its own becomes an autograd
// function; one without either answers a backward pass with Unsupported. The plugin must outlive
// it.
std::function<at::Tensor(const AttentionInputs&)> differentiable(AttentionBoundary& attention);

// "[2, 3]".
std::string shape_text(at::IntArrayRef sizes);

// Puts the norm, and residual addition followed by it, into the operations.
void set_norm(Ops& ops, NormBoundary& norm);

}  // namespace assay::model
