#include "model/block_hooks.h"

#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>

namespace assay::model {

struct BlockHooks::State {
  BlockCalls calls;
  int first_trained = 0;
  std::vector<int> open;  // blocks whose backward has begun and not ended

  void begin_backward(int block) {
    if (std::find(open.begin(), open.end(), block) != open.end()) return;
    open.push_back(block);
    calls.before_backward(block);
  }
  void end_backward(int block) {
    const auto found = std::find(open.begin(), open.end(), block);
    if (found == open.end()) return;
    open.erase(found);
    calls.after_backward(block);
  }
};

namespace {

// Hands gradients on and makes a call when all of them have come. Autograd runs the node made last
// first, and accumulates into a parameter as soon as its gradient is there, so that everything
// behind this node is done by then.
class CallNode final : public torch::autograd::Node {
 public:
  CallNode(torch::autograd::edge_list edges, std::function<void()> call)
      : Node(std::move(edges)), call_(std::move(call)) {}

  torch::autograd::variable_list apply(torch::autograd::variable_list&& gradients) override {
    call_();
    return std::move(gradients);
  }
  std::string name() const override { return "BlockHook"; }

 private:
  std::function<void()> call_;
};

void insert(std::initializer_list<at::Tensor*> tensors, bool always, std::function<void()> call) {
  if (!at::GradMode::is_enabled()) return;
  bool needed = always;
  torch::autograd::edge_list edges;
  for (const at::Tensor* tensor : tensors) {
    if (!tensor->defined()) continue;
    needed = needed || tensor->requires_grad();
    edges.push_back(torch::autograd::impl::gradient_edge(*tensor));
  }
  if (!needed || edges.empty()) return;
  const auto node = std::make_shared<CallNode>(std::move(edges), std::move(call));
  for (at::Tensor* tensor : tensors) {
    if (!tensor->defined()) continue;
    *tensor = tensor->variable_data();
    torch::autograd::impl::set_gradient_edge(*tensor, {node, node->add_input_metadata(*tensor)});
  }
}

}  // namespace

BlockHooks::BlockHooks(BlockCalls calls, int first_trained)
    : state_(std::make_shared<State>(State{std::move(calls), first_trained, {}})) {}

BlockHooks BlockHooks::of(CommunicationHandle communication, const TrainedModel& model) {
  if (!communication || !communication.traits().wants_blocks) return {};
  return {{[communication](int block) { communication.before_forward(block); },
           [communication](int block) { communication.after_forward(block); },
           [communication](int block) { communication.before_backward(block); },
           [communication](int block) { communication.after_backward(block); }},
          first_trained_block(model)};
}

void BlockHooks::enter(int block, std::initializer_list<at::Tensor*> inputs) const {
  if (!state_) return;
  insert(inputs, /*always=*/block > state_->first_trained,
         [state = state_, block] { state->end_backward(block); });
  state_->calls.before_forward(block);
}

void BlockHooks::leave(int block, std::initializer_list<at::Tensor*> outputs) const {
  if (!state_) return;
  state_->calls.after_forward(block);
  insert(outputs, /*always=*/block >= state_->first_trained,
         [state = state_, block] { state->begin_backward(block); });
}

void BlockHooks::before_again(int block) const {
  if (state_) state_->calls.before_forward(block);
}

void BlockHooks::after_again(int block) const {
  if (state_) state_->calls.after_forward(block);
}

void BlockHooks::backward_begins() const {
  if (state_) state_->open.clear();
}

void BlockHooks::backward_ended() const {
  if (!state_) return;
  while (!state_->open.empty()) state_->end_backward(state_->open.back());
}

int first_trained_block(const TrainedModel& model) {
  const auto trains = [&](const ParameterBlock& block) {
    return std::any_of(block.parameters.begin(), block.parameters.end(), [&](std::size_t index) {
      return model.parameters[index].tensor.requires_grad();
    });
  };
  const auto first = std::find_if(model.blocks.begin(), model.blocks.end(), trains);
  return static_cast<int>(first - model.blocks.begin());
}

}  // namespace assay::model
