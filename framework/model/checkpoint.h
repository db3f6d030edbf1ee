#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

namespace assay::model {

// A part of a forward. Of its inputs and outputs any may be undefined. again: this call repeats an
// earlier one.
using PartOfForward =
    std::function<std::vector<at::Tensor>(std::vector<at::Tensor> inputs, bool again)>;

// Runs the part without a graph and keeps its inputs alone; when the gradients of its outputs come,
// runs it again with one, under the same autocast, for its backward (Chen et al. 2016,
// arXiv:1604.06174). Gradients of parameters are accumulated within, so they are what a backward
// without it gives. `part` must compute the same again and outlive the graph. A second
// backward through it throws c10::Error unless the first one kept the graph, as for any other node.
// With gradients disabled it only runs the part.
std::vector<at::Tensor> checkpointed(std::vector<at::Tensor> inputs, PartOfForward part);

}  // namespace assay::model
