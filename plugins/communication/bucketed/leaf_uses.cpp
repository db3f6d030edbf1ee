#include "communication/bucketed/leaf_uses.h"

#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/variable.h>

#include <unordered_map>

namespace assay::communication {

std::vector<int> leaf_uses(const at::Tensor& root, const std::vector<at::Tensor>& leaves) {
  using torch::autograd::Node;
  std::unordered_map<const Node*, int> edges_to;
  std::vector<const Node*> waiting;
  if (root.grad_fn()) waiting.push_back(root.grad_fn().get());
  while (!waiting.empty()) {
    const Node* node = waiting.back();
    waiting.pop_back();
    for (const torch::autograd::Edge& edge : node->next_edges()) {
      if (edge.is_valid() && edges_to[edge.function.get()]++ == 0) {
        waiting.push_back(edge.function.get());
      }
    }
  }
  std::vector<int> uses;
  for (const at::Tensor& leaf : leaves) {
    const auto found = edges_to.find(torch::autograd::impl::try_get_grad_accumulator(leaf).get());
    uses.push_back(found == edges_to.end() ? 0 : found->second);
  }
  return uses;
}

}  // namespace assay::communication
