#include "training/training_state.h"

#include <ATen/ops/_amp_foreach_non_finite_check_and_unscale.h>
#include <ATen/ops/_amp_update_scale.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <string>

#include "model/autograd_thread.h"

namespace assay::training {

namespace {

constexpr double scale_growth = 2;
constexpr double scale_backoff = 0.5;

std::vector<Slice> whole_slices(const std::vector<at::Tensor>& parameters) {
  std::vector<Slice> slices;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    slices.push_back({.values = parameters[i],
                      .pieces = {{i, 0, parameters[i].numel(), 0}},
                      .buffer = std::to_string(i),
                      .replicated = true,
                      .frozen = !parameters[i].requires_grad()});
  }
  return slices;
}

struct ReadyHook final : torch::autograd::PostAccumulateGradHook {
  ReadyHook(std::function<void(std::size_t)> ready, std::size_t parameter)
      : ready_(std::move(ready)), parameter_(parameter) {}
  void operator()(const torch::autograd::Variable&) override { ready_(parameter_); }

 private:
  std::function<void(std::size_t)> ready_;
  std::size_t parameter_;
};

}  // namespace

TrainingState::TrainingState(std::vector<at::Tensor> parameters, const PrecisionPolicy& policy,
                             CommunicationHandle communication, AdamWSettings settings)
    : parameters_(std::move(parameters)),
      communication_(communication),
      settings_(settings),
      wants_masters_(policy.fp32_master),
      growth_interval_(policy.loss_scale_growth_interval) {
  std::optional<std::vector<Slice>> named;
  if (communication_) {
    keeps_gradients_ = communication_.traits().keeps_gradients;
    named = communication_.slices();
  }
  is_sharded_ = named.has_value();
  slices_ = is_sharded_ ? std::move(*named) : whole_slices(parameters_);
  std::erase_if(slices_, [](const Slice& slice) { return slice.frozen; });
  for (const Slice& slice : slices_) {
    keeps_copies_ = keeps_copies_ || slice.low_precision.defined();
  }
  if (!policy.loss_scaling || parameters_.empty()) return;
  const auto options = at::TensorOptions().device(device());
  initial_scale_ = policy.initial_loss_scale;
  scale_ = at::full({1}, initial_scale_, options.dtype(at::kFloat));
  growth_tracker_ = at::zeros({1}, options.dtype(at::kInt));
  found_inf_ = at::zeros({1}, options.dtype(at::kFloat));
  skipped_ = at::zeros({1}, options.dtype(at::kFloat));
}

at::Device TrainingState::device() const { return parameters_.front().device(); }

TrainingState::~TrainingState() {
  if (!hooked_) return;
  for (const auto& parameter : parameters_) {
    if (!parameter.requires_grad()) continue;
    torch::autograd::impl::set_post_acc_grad_hooks(parameter, nullptr);
  }
}

void TrainingState::on_gradient_ready(std::function<void(std::size_t)> ready) {
  hooked_ = true;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (!parameters_[i].requires_grad()) continue;
    torch::autograd::impl::set_post_acc_grad_hooks(parameters_[i],
                                                   std::make_unique<ReadyHook>(ready, i));
  }
}

void TrainingState::clear_gradients() {
  if (keeps_gradients_) {
    communication_.clear_gradients();
    return;
  }
  for (auto& parameter : parameters_) parameter.mutable_grad() = at::Tensor();
  for (const Slice& slice : slices_) slice.values.mutable_grad() = at::Tensor();
}

void TrainingState::backward(const at::Tensor& loss) {
  // The communication variant is called from the thread that attached it.
  const model::AutogradOnThisThread on_this_thread;
  torch::autograd::backward({scale_.defined() ? loss * scale_.squeeze() : loss});
}

void TrainingState::make_moments() {
  if (!steps_.empty()) return;
  make_masters();
  for (std::size_t i = 0; i < slices_.size(); ++i) {
    const auto value = masters_[i].defined() ? masters_[i] : slices_[i].values.detach();
    first_moments_.push_back(at::zeros_like(value));
    second_moments_.push_back(at::zeros_like(value));
    steps_.push_back(at::zeros({}, value.options().dtype(at::kFloat)));
  }
}

void TrainingState::make_masters() {
  if (!masters_.empty()) return;
  for (const Slice& slice : slices_) {
    const bool narrow = slice.values.element_size() < 4;
    masters_.push_back(wants_masters_ && narrow ? slice.values.detach().to(at::kFloat)
                                                : at::Tensor());
  }
}

void TrainingState::drop_moments() {
  for (auto* tensors : {&first_moments_, &second_moments_, &steps_}) tensors->clear();
}

std::vector<at::Tensor> TrainingState::optimizer_state() const {
  std::vector<at::Tensor> state;
  for (const auto* tensors : {&masters_, &first_moments_, &second_moments_, &steps_}) {
    for (const at::Tensor& tensor : *tensors) {
      if (tensor.defined()) state.push_back(tensor);
    }
  }
  return state;
}

std::optional<TrainingState::Updated> TrainingState::updated(std::size_t slice) const {
  if (steps_.empty()) return std::nullopt;
  const at::Tensor& master = masters_[slice];
  return Updated{master.defined() ? master : slices_[slice].values.detach(), first_moments_[slice],
                 second_moments_[slice], steps_[slice]};
}

void TrainingState::unscale(const std::vector<at::Tensor>& gradients) {
  found_inf_.zero_();
  if (!gradients.empty()) {
    at::_amp_foreach_non_finite_check_and_unscale_(gradients, found_inf_, scale_.reciprocal());
  }
  if (!is_sharded_) return;
  communication_.sum_over_owners(found_inf_);
  found_inf_.clamp_max_(1);
}

std::vector<const Slice*> TrainingState::slices_with_gradients() const {
  std::vector<const Slice*> found;
  for (const Slice& slice : slices_) {
    if (slice.values.grad().defined()) found.push_back(&slice);
  }
  return found;
}

at::Tensor TrainingState::gradient_norm() const {
  std::vector<at::Tensor> gradients;
  for (const Slice* slice : slices_with_gradients()) gradients.push_back(slice->values.grad());
  return norm_of(gradients);
}

at::Tensor TrainingState::norm_of(const std::vector<at::Tensor>& gradients) const {
  const at::NoGradGuard no_grad;
  const auto options = at::TensorOptions().device(device()).dtype(at::kFloat);
  at::Tensor own = at::zeros({1}, options);
  at::Tensor shared = at::zeros({1}, options);
  const auto slices = slices_with_gradients();
  for (std::size_t i = 0; i < slices.size(); ++i) {
    (slices[i]->replicated ? shared : own).add_(gradients[i].to(at::kFloat).square().sum());
  }
  if (is_sharded_) communication_.sum_over_owners(own);
  return (own + shared).sqrt().squeeze();
}

void TrainingState::keep_copies(const std::vector<at::Tensor>& copies) {
  if (is_sharded_) return;
  keeps_copies_ = true;
  for (Slice& slice : slices_) slice.low_precision = copies[slice.pieces.front().parameter];
}

// As it is, but for loss scaling: unscaling in 16 bit would lose again what the scale has saved
// from underflow. The narrow one is then freed as soon as there is a wide one, unless it is the
// variant's.
at::Tensor TrainingState::gradient_of(std::size_t slice) {
  const at::Tensor& values = slices_[slice].values;
  at::Tensor& gradient = values.mutable_grad();
  const at::Tensor& updated = masters_[slice].defined() ? masters_[slice] : values;
  if (!scale_.defined() || gradient.scalar_type() == updated.scalar_type()) return gradient;
  at::Tensor wide = gradient.to(updated.scalar_type());
  if (!keeps_gradients_) gradient = wide;
  return wide;
}

OptimizerInputs TrainingState::optimizer_inputs() {
  OptimizerInputs in;
  in.learning_rate = settings_.learning_rate;
  in.beta1 = settings_.beta1;
  in.beta2 = settings_.beta2;
  in.eps = settings_.eps;
  in.weight_decay = settings_.weight_decay;
  in.max_grad_norm = settings_.max_grad_norm;
  for (std::size_t i = 0; i < slices_.size(); ++i) {
    const Slice& slice = slices_[i];
    if (!slice.values.grad().defined()) continue;
    const at::Tensor& master = masters_[i];
    in.parameters.push_back(master.defined() ? master : slice.values);
    in.gradients.push_back(gradient_of(i));
    in.first_moments.push_back(first_moments_[i]);
    in.second_moments.push_back(second_moments_[i]);
    in.steps.push_back(steps_[i]);
    if (keeps_copies_ || wants_masters_) {
      in.low_precision.push_back(master.defined() ? slice.values.detach() : slice.low_precision);
    }
  }
  return in;
}

// What a variant keeps is unscaled and limited as its wide copies were.
void TrainingState::refresh_kept_gradients(const std::vector<at::Tensor>& wide) const {
  const auto slices = slices_with_gradients();
  for (std::size_t i = 0; i < slices.size(); ++i) {
    const at::Tensor& kept = slices[i]->values.grad();
    if (!wide[i].is_same(kept)) kept.copy_(wide[i]);
  }
}

// Of slices whose place among the optimizer's copies their own values have.
void TrainingState::refresh_kept_copies() const {
  for (std::size_t i = 0; i < slices_.size(); ++i) {
    const Slice& slice = slices_[i];
    if (masters_[i].defined() && slice.low_precision.defined()) {
      slice.low_precision.copy_(slice.values);
    }
  }
}

void TrainingState::step(const Ops& ops) {
  const at::NoGradGuard no_grad;
  make_moments();
  OptimizerInputs in = optimizer_inputs();
  // A rank without a slice takes part in what the others agree on.
  if (in.parameters.empty() && !is_sharded_) return;
  if (scale_.defined()) {
    unscale(in.gradients);
    in.found_inf = found_inf_;
  }
  if (in.max_grad_norm > 0 && is_sharded_) in.grad_norm = norm_of(in.gradients);
  if (!in.parameters.empty()) ops.optimizer(in);
  if (scale_.defined() && keeps_gradients_) refresh_kept_gradients(in.gradients);
  if (keeps_copies_ && wants_masters_) refresh_kept_copies();
  if (!scale_.defined()) return;
  skipped_.add_(found_inf_);
  at::_amp_update_scale_(scale_, growth_tracker_, found_inf_, scale_growth, scale_backoff,
                         growth_interval_);
}

void TrainingState::reset() {
  const at::NoGradGuard no_grad;
  for (auto* tensors : {&first_moments_, &second_moments_, &steps_}) {
    for (auto& tensor : *tensors) tensor.zero_();
  }
  for (std::size_t i = 0; i < masters_.size(); ++i) {
    if (masters_[i].defined()) masters_[i].copy_(slices_[i].values);
  }
  if (!scale_.defined()) return;
  scale_.fill_(initial_scale_);
  growth_tracker_.zero_();
  skipped_.zero_();
}

std::int64_t TrainingState::skipped_steps() const {
  return skipped_.defined() ? skipped_.to(at::kLong).item<std::int64_t>() : 0;
}

double TrainingState::loss_scale() const { return scale_.defined() ? scale_.item<double>() : 1; }

}  // namespace assay::training
