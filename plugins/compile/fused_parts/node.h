#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/variable.h>

#include <memory>
#include <utility>
#include <vector>

#include "compile/fused_parts/dtype.h"

// What the operations share: they compute without a graph and, where a gradient is wanted, add a
// node of their own. Nodes keep tensors as plain memory: no operation here changes one in place.
namespace assay::fused {

inline bool wants_graph(const std::vector<at::Tensor>& inputs) {
  if (!at::GradMode::is_enabled()) return false;
  for (const at::Tensor& input : inputs) {
    if (input.defined() && input.requires_grad()) return true;
  }
  return false;
}

inline torch::autograd::edge_list edges_to(const std::vector<at::Tensor>& inputs) {
  torch::autograd::edge_list edges;
  for (const at::Tensor& input : inputs) {
    edges.push_back(input.defined() && input.requires_grad()
                        ? torch::autograd::impl::gradient_edge(input)
                        : torch::autograd::Edge());
  }
  return edges;
}

// A node whose result can be computed again from what it keeps, so that a node behind it need not
// keep that, too. Its device is the current one.
class Recomputable {
 public:
  virtual ~Recomputable() = default;
  // The same, bit for bit. An error where the node's tensors were released, which its own backward
  // does unless the graph is retained.
  virtual at::Tensor again() const = 0;
};

// The tensor as the next result of `node`, which may be null.
inline at::Tensor result_of(const std::shared_ptr<torch::autograd::Node>& node,
                            const at::Tensor& made) {
  if (!node) return made;
  at::Tensor result = made.variable_data();
  torch::autograd::impl::set_gradient_edge(result, {node, node->add_input_metadata(result)});
  return result;
}

inline bool is_taken(at::ScalarType dtype) {
  return dtype == at::kFloat || dtype == at::kBFloat16 || dtype == at::kHalf;
}

inline Dtype dtype_of(const at::Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case at::kBFloat16:
      return Dtype::bf16;
    case at::kHalf:
      return Dtype::fp16;
    default:
      return Dtype::fp32;
  }
}

inline void* data_of(const at::Tensor& tensor) {
  return tensor.defined() ? const_cast<void*>(tensor.const_data_ptr()) : nullptr;
}

// [..., columns] as [rows, columns] with contiguous columns, without a copy where possible.
inline at::Tensor as_rows(const at::Tensor& tensor) {
  const auto columns = tensor.size(-1);
  const at::Tensor rows = tensor.reshape({-1, columns});
  const bool apart = rows.size(0) <= 1 || rows.stride(0) >= columns;
  return apart && (columns <= 1 || rows.stride(1) == 1) ? rows : rows.contiguous();
}

}  // namespace assay::fused
