#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/zeros.h>

#include "model/random.h"
#include "network.h"
#include "training/training_state.h"

namespace assay::dtype_trace {

namespace {

constexpr std::int64_t features = 32;
constexpr std::int64_t hidden = 10;
constexpr std::int64_t classes = 5;

class Mlp final : public Network {
 public:
  Mlp(const CaseContext& context, std::int64_t batch)
      : device_(context.device), policy_(context.precision), ops_(context.ops) {
    const auto generator = model::seeded_generator(device_, context.seed);
    const auto options = at::TensorOptions().device(device_);
    const auto matrix = [&](std::int64_t rows, std::int64_t columns) {
      return at::randn({rows, columns}, generator, options).mul_(0.1).to(policy_.parameters);
    };
    x_ = at::randn({batch, features}, generator, options).to(policy_.parameters);
    targets_ = model::random_tokens({batch}, classes, device_, context.seed);
    fc1_ = matrix(hidden, features);
    norm_weight_ = at::ones({hidden}, options.dtype(policy_.parameters));
    norm_bias_ = at::zeros({hidden}, options.dtype(policy_.parameters));
    fc2_ = matrix(classes, hidden);
    for (at::Tensor& parameter : parameters()) parameter.requires_grad_();
    state_ = std::make_unique<training::TrainingState>(parameters(), policy_);
  }

  ObservedDtypes step() override {
    ObservedDtypes observed;
    state_->clear_gradients();
    const at::Tensor logits = forward(observed);
    if (policy_.autocast) {
      observed.see("loss outside autocast", at::cross_entropy_loss(logits, targets_),
                   taken(policy_, /*inside=*/false));
    }
    state_->backward(loss_);
    for (const at::Tensor& parameter : parameters()) {
      observed.see("gradients", parameter.grad(), "in the backward");
    }
    Ops ops = ops_;
    ops.optimizer = [&, update = ops_.optimizer](const OptimizerInputs& in) {
      see_optimizer(observed, in);
      update(in);
    };
    state_->step(ops);
    return observed;
  }

 private:
  std::vector<at::Tensor> parameters() const { return {fc1_, norm_weight_, norm_bias_, fc2_}; }

  // The logits; leaves the loss, taken inside.
  at::Tensor forward(ObservedDtypes& observed) {
    const model::Autocast autocast(device_, policy_.autocast);
    const std::string inside = taken(policy_, /*inside=*/true);
    observed.see("parameters", parameters(), stored);
    const auto seen = [&](const char* what, const at::Tensor& tensor) {
      observed.see(what, tensor, inside);
      return tensor;
    };
    const at::Tensor first = seen("fc1 output", ops_.linear(x_, fc1_));
    const at::Tensor active = seen("ReLU output", at::relu(first));
    const at::Tensor normed =
        seen("layer norm output", at::layer_norm(active, {hidden}, norm_weight_, norm_bias_));
    const at::Tensor logits = seen("logits", ops_.linear(normed, fc2_));
    loss_ = seen("loss", at::cross_entropy_loss(logits, targets_));
    return logits;
  }

  at::Device device_;
  PrecisionPolicy policy_;
  Ops ops_;
  at::Tensor x_, targets_, fc1_, norm_weight_, norm_bias_, fc2_;
  std::unique_ptr<training::TrainingState> state_;
  at::Tensor loss_;
};

}  // namespace

std::unique_ptr<Network> make_mlp(const CaseContext& context, std::int64_t batch) {
  return std::make_unique<Mlp>(context, batch);
}

}  // namespace assay::dtype_trace
