#include "model/checkpoint.h"

#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <assay/range.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/saved_variable.h>
#include <torch/csrc/autograd/variable.h>

#include <memory>
#include <optional>
#include <utility>

#include "model/autocast.h"

namespace assay::model {

namespace {

using Tensors = std::vector<at::Tensor>;

at::Device device_of(const Tensors& tensors) {
  for (const at::Tensor& tensor : tensors) {
    if (tensor.defined()) return tensor.device();
  }
  return at::kCPU;
}

std::optional<at::ScalarType> autocast_dtype(at::Device device) {
  if (!at::autocast::is_autocast_enabled(device.type())) return std::nullopt;
  return at::autocast::get_autocast_dtype(device.type());
}

torch::autograd::edge_list edges_of(const Tensors& inputs) {
  torch::autograd::edge_list edges;
  for (const at::Tensor& input : inputs) {
    if (input.defined()) edges.push_back(torch::autograd::impl::gradient_edge(input));
  }
  return edges;
}

class CheckpointNode final : public torch::autograd::Node {
 public:
  CheckpointNode(const Tensors& inputs, PartOfForward part)
      : Node(edges_of(inputs)),
        part_(std::move(part)),
        device_(device_of(inputs)),
        autocast_(autocast_dtype(device_)) {
    for (const at::Tensor& input : inputs) inputs_.emplace_back(input, /*is_output=*/false);
  }

  torch::autograd::variable_list apply(torch::autograd::variable_list&& gradients) override {
    TORCH_CHECK(!is_released_, torch::autograd::ERR_BACKWARD_TWICE);
    Tensors leaves = take_inputs();
    Tensors outputs = run_again(leaves);
    Tensors roots, of_roots;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (!gradients[i].defined() || !outputs[i].defined() || !outputs[i].requires_grad()) continue;
      roots.push_back(std::move(outputs[i]));
      of_roots.push_back(std::move(gradients[i]));
    }
    outputs.clear();
    if (!roots.empty()) torch::autograd::backward(roots, of_roots);
    torch::autograd::variable_list results;
    for (const at::Tensor& leaf : leaves) {
      if (leaf.defined()) results.push_back(leaf.grad());
    }
    return results;
  }

  void release_variables() override {
    is_released_ = true;
    inputs_.clear();
  }
  std::string name() const override { return "CheckpointBackward"; }

 private:
  Tensors take_inputs() const {
    Tensors leaves;
    for (const torch::autograd::SavedVariable& saved : inputs_) {
      const at::Tensor input = saved.unpack();
      leaves.push_back(input.defined() ? input.detach().requires_grad_(input.requires_grad())
                                       : at::Tensor());
    }
    return leaves;
  }

  Tensors run_again(const Tensors& leaves) const {
    const at::AutoGradMode with_graph(true);
    // Copies that were made without a graph would lead to no parameter.
    if (autocast_) at::autocast::clear_cache();
    const Autocast autocast(device_, autocast_);
    return part_(leaves, /*again=*/true);
  }

  PartOfForward part_;
  at::Device device_;
  std::optional<at::ScalarType> autocast_;
  std::vector<torch::autograd::SavedVariable> inputs_;
  bool is_released_ = false;  // by a backward that does not keep the graph
};

}  // namespace

std::vector<at::Tensor> checkpointed(std::vector<at::Tensor> inputs, PartOfForward part) {
  if (!at::GradMode::is_enabled()) return part(std::move(inputs), /*again=*/false);
  const auto node = [&] {
    const Range range("checkpoint");
    return std::make_shared<CheckpointNode>(inputs, part);
  }();
  Tensors outputs;
  {
    const at::NoGradGuard no_graph;
    outputs = part(std::move(inputs), /*again=*/false);
  }
  for (at::Tensor& output : outputs) {
    const at::Tensor made = output;
    if (!made.defined()) {
      // Its place among the gradients stays.
      node->add_input_metadata(torch::autograd::Node::undefined_input());
      continue;
    }
    output = made.variable_data();
    torch::autograd::impl::set_gradient_edge(output, {node, node->add_input_metadata(output)});
  }
  return outputs;
}

}  // namespace assay::model
