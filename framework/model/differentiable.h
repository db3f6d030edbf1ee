#pragma once

#include <assay/ops.h>

namespace assay::model {

// Makes the plugin an operation of a model. A plugin with its own backward becomes an autograd
// function; without any backward, backward passes throw Unsupported. The plugin must outlive it.
std::function<at::Tensor(const AttentionInputs&)> differentiable(AttentionBoundary& attention);

// "[2, 3]".
std::string shape_text(at::IntArrayRef sizes);

// Sets ops.norm and ops.add_norm.
void set_norm(Ops& ops, NormBoundary& norm);

}  // namespace assay::model
