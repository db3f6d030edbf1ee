#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace assay::communication {

// How many operations of the graph of `root` hand a gradient to each leaf. What checkpointed blocks
// will compute again is not in it.
std::vector<int> leaf_uses(const at::Tensor& root, const std::vector<at::Tensor>& leaves);

}  // namespace assay::communication
