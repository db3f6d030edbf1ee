#include "training/training_step.h"

#include <assay/range.h>

#include <string>

namespace assay::training {

namespace {

std::vector<at::Tensor> tensors_of(const TrainedModel& model) {
  std::vector<at::Tensor> tensors;
  for (const ModelParameter& parameter : model.parameters) tensors.push_back(parameter.tensor);
  return tensors;
}

}  // namespace

TrainingStep::TrainingStep(TrainedModel model, const CaseContext& context, AdamWSettings settings)
    : model_(std::move(model)),
      group_(context.group),
      communication_(context.communication),
      trace_(context.trace),
      shards_(attach(context)),
      state_(tensors_of(model_), context.precision, communication_, settings) {
  if (!communication_ || !communication_.traits().wants_gradient_ready) return;
  state_.on_gradient_ready([communication = communication_](std::size_t parameter) {
    communication.gradient_ready(parameter);
  });
}

// The communication variant sees the parameters first and says which slices this rank owns.
Shards TrainingStep::attach(const CaseContext& context) {
  if (communication_) {
    const LentWorks::Patience patience(*lent_);
    communication_.attach(model_, counted(context.mesh, traffic_, trace_, lent_), trace_);
    gradients_travel_ = context.group.size > 1 && communication_.traits().synchronizes;
    hooks_ = model::BlockHooks::of(communication_, model_);
  }
  return {model_, communication_, context.group};
}

void TrainingStep::clear() {
  state_.clear_gradients();
  lent_->await();
}

void TrainingStep::backward(const at::Tensor& loss) {
  {
    const TraceScope phase = trace_.phase("backward");
    const Range range("backward");
    if (communication_) communication_.backward_begins(loss);
    hooks_.backward_begins();
    state_.backward(loss);
    hooks_.backward_ended();
  }
  if (!communication_) return;
  const TraceScope phase = communication_phase();
  const Range range("communication");
  communication_.backward_finished();
}

void TrainingStep::optimize(const Ops& ops) {
  {
    const TraceScope phase = trace_.phase("optimizer");
    const Range range("optimizer");
    state_.step(ops);
  }
  if (!communication_) return;
  const TraceScope phase = communication_phase();
  const Range range("communication");
  communication_.after_step();
}

TraceScope TrainingStep::communication_phase() const {
  return gradients_travel_ ? trace_.phase("communication") : TraceScope();
}

// In fp32: what scaling saved from underflow would be lost again in fp16.
NamedTensor TrainingStep::unscaled(const std::string& name, const at::Tensor& gradient,
                                   bool optimized) const {
  const double scale = optimized ? 1 : state_.loss_scale();
  return {"grad." + name, scale == 1 ? gradient : gradient.to(at::kFloat) / scale};
}

std::vector<NamedTensor> TrainingStep::gradients(bool optimized) const {
  std::vector<NamedTensor> gradients;
  for (const Slice& slice : state_.slices()) {
    const auto& gradient = slice.values.grad();
    if (!gradient.defined()) continue;
    const std::string name =
        shards_.are_whole() ? model_.parameters[slice.pieces.front().parameter].name : slice.buffer;
    gradients.push_back(unscaled(name, gradient, optimized));
  }
  return gradients;
}

std::vector<NamedTensor> TrainingStep::whole_gradients(bool optimized) const {
  std::vector<NamedTensor> named;
  const std::vector<at::Tensor> gradients = shards_.gather_gradients();
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (!gradients[i].defined()) continue;
    named.push_back(unscaled(model_.parameters[i].name, gradients[i], optimized));
  }
  return named;
}

std::vector<NamedTensor> TrainingStep::whole_parameters() const {
  const std::vector<at::Tensor> values = shards_.gather_parameters();
  std::vector<NamedTensor> parameters;
  for (std::size_t i = 0; i < values.size(); ++i) {
    parameters.push_back({model_.parameters[i].name, values[i]});
  }
  return parameters;
}

std::vector<NamedTensor> TrainingStep::seen_gradients(bool optimized) const {
  return gathers() ? whole_gradients(optimized) : gradients(optimized);
}

std::vector<NamedTensor> TrainingStep::seen_parameters() const {
  if (gathers()) return whole_parameters();
  std::vector<NamedTensor> parameters;
  for (const ModelParameter& parameter : model_.parameters) {
    parameters.push_back({parameter.name, parameter.tensor.detach()});
  }
  return parameters;
}

std::vector<NamedTensor> TrainingStep::replicas() const {
  std::vector<NamedTensor> whole;
  for (const Slice& slice : state_.slices()) {
    if (slice.replicated && gathers()) whole.push_back({slice.buffer, slice.values.detach()});
  }
  if (communication_ && communication_.traits().wants_blocks) return whole;
  for (const ModelParameter& parameter : model_.parameters) {
    whole.push_back({parameter.name, parameter.tensor.detach()});
  }
  return whole;
}

void TrainingStep::restart_from(const std::vector<NamedTensor>& parameters) {
  std::vector<at::Tensor> values;
  for (const auto& parameter : parameters) values.push_back(parameter.tensor);
  shards_.load(values);
  state_.reset();
}

std::vector<Count> TrainingStep::sent() const {
  std::vector<Count> counts;
  for (const Sent& sent : traffic_->sent()) {
    counts.push_back({"sent_calls", sent.collective, static_cast<double>(sent.calls)});
    counts.push_back({"sent_bytes", sent.collective, static_cast<double>(sent.bytes)});
  }
  return counts;
}

std::vector<MetricInfo> TrainingStep::metrics() {
  return {
      {"sent_calls", "count", Direction::neither, "Collectives that a rank joined, by collective."},
      {"sent_bytes", "byte", Direction::neither,
       "Bytes of the whole tensors that were sent, by collective.",
       "input of all_reduce, reduce, broadcast, reduce_scatter, scatter, send and all_to_all; "
       "output of all_gather, gather and receive"}};
}

}  // namespace assay::training
