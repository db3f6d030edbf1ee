#include "model_program.h"

#include <ATen/core/grad_mode.h>
#include <assay/range.h>

#include "model/autocast.h"
#include "model/random.h"
#include "model/trained_model.h"

namespace assay::model_step {

namespace {

// Ranks share parameters, but not tokens and targets.
std::uint64_t data_seed(const CaseContext& context, std::uint64_t stream) {
  return context.seed + 2 * static_cast<std::uint64_t>(context.group.rank) + stream;
}

model::AdamWSettings optimizer_settings(const CaseContext& context) {
  model::AdamWSettings settings;
  settings.max_grad_norm = real_option(context.parameters, "max_grad_norm");
  return settings;
}

}  // namespace

ModelProgram::ModelProgram(const CaseContext& context, const model::ModelConfig& config,
                           const Shape& shape, bool keep_logits)
    : communication_(context.communication),
      predictions_(context, config,
                   {static_cast<double>(shape.batch), static_cast<double>(shape.seq_len)}),
      trace_(context.trace),
      ops_(context.ops),
      precision_(context.precision),
      device_(context.device),
      shape_(shape),
      keep_logits_(keep_logits),
      tokens_(model::random_tokens({shape.batch, shape.seq_len}, config.vocab_size, device_,
                                   data_seed(context, 0))),
      targets_(model::random_tokens({shape.batch, shape.seq_len}, config.vocab_size, device_,
                                    data_seed(context, 1))),
      model_(config, context.ops, device_, precision_.parameters, context.seed),
      shards_(attach_communication(context)),
      state_(model_.parameter_tensors(), precision_, communication_, optimizer_settings(context)) {
  connect_communication();
  set_checkpoints(static_cast<int>(integer_option(context.parameters, "checkpoint_every")));
}

void ModelProgram::set_checkpoints(int every) {
  if (hooks_ && every > 1) {
    throw Unsupported(
        "the communication variant acts around each block, and checkpoints of several blocks "
        "compute them again together: checkpoint_every may be 0 or 1");
  }
  model_.set_checkpoint_every(every);
}

// The communication variant sees the parameters first and says which slices this rank owns.
model::Shards ModelProgram::attach_communication(const CaseContext& context) {
  TrainedModel trained = model::trained_model(model_, precision_);
  if (communication_) {
    communication_.attach(trained, counted(context.mesh, traffic_, trace_), trace_);
    gradients_travel_ = context.group.size > 1 && communication_.traits().synchronizes;
    hooks_ = model::BlockHooks::of(communication_, trained);
    model_.set_hooks(hooks_);
  }
  return {std::move(trained), communication_, context.group};
}

void ModelProgram::connect_communication() {
  if (!communication_ || !communication_.traits().wants_gradient_ready) return;
  state_.on_gradient_ready([communication = communication_](std::size_t parameter) {
    communication.gradient_ready(parameter);
  });
}

void ModelProgram::before(const std::string& pass) {
  loss_ = at::Tensor();
  logits_ = at::Tensor();
  state_.clear_gradients();
  if (pass == "backward") forward();
  if (pass == "train_step") state_.make_moments();
  traffic_->clear();
}

void ModelProgram::run(const std::string& pass) {
  if (pass == "inference") {
    const TraceScope phase = trace_.phase("forward");
    const Range range("forward");
    const at::NoGradGuard no_grad;
    const model::Autocast autocast(device_, precision_.autocast);
    logits_ = model_.forward(tokens_);
  } else if (pass == "forward") {
    const TraceScope phase = trace_.phase("forward");
    forward(/*keep_logits=*/true);
  } else if (pass == "backward") {
    backward();
  } else if (pass == "forward_backward") {
    forward_backward();
  } else if (pass == "train_step") {
    train_step();
  } else {
    throw std::invalid_argument("model_step has no pass '" + pass + "'");
  }
}

void ModelProgram::forward(bool keep_logits) {
  const Range range("forward");
  const model::Autocast autocast(device_, precision_.autocast);
  const at::Tensor logits = model_.forward(tokens_);
  if (keep_logits || keep_logits_) logits_ = logits.detach();
  loss_ = model_.loss(logits, targets_);
}

void ModelProgram::backward() {
  {
    const TraceScope phase = trace_.phase("backward");
    const Range range("backward");
    if (communication_) communication_.backward_begins(loss_);
    hooks_.backward_begins();
    state_.backward(loss_);
    hooks_.backward_ended();
  }
  if (!communication_) return;
  const TraceScope phase = communication_phase();
  const Range range("communication");
  communication_.backward_finished();
}

void ModelProgram::forward_backward() {
  {
    const TraceScope phase = trace_.phase("forward");
    forward();
  }
  backward();
}

void ModelProgram::train_step() {
  forward_backward();
  {
    const TraceScope phase = trace_.phase("optimizer");
    const Range range("optimizer");
    state_.step(ops_);
  }
  if (!communication_) return;
  const TraceScope phase = communication_phase();
  const Range range("communication");
  communication_.after_step();
}

TraceScope ModelProgram::communication_phase() const {
  return gradients_travel_ ? trace_.phase("communication") : TraceScope();
}

std::vector<NamedTensor> ModelProgram::results() const {
  std::vector<NamedTensor> results;
  if (logits_.defined()) results.push_back({"logits", logits_});
  if (loss_.defined()) results.push_back({"loss", loss_.detach()});
  return results;
}

// A train step leaves its gradients unscaled. In fp32: what scaling saved from underflow would be
// lost again in fp16.
NamedTensor ModelProgram::unscaled(const std::string& name, const at::Tensor& gradient,
                                   const std::string& pass) const {
  const double scale = pass == "train_step" ? 1 : state_.loss_scale();
  return {"grad." + name, scale == 1 ? gradient : gradient.to(at::kFloat) / scale};
}

std::vector<NamedTensor> ModelProgram::outputs(const std::string& pass) {
  std::vector<NamedTensor> outputs = results();
  for (const Slice& slice : state_.slices()) {
    const auto& gradient = slice.values.grad();
    if (!gradient.defined()) continue;
    const std::string name = shards_.are_whole()
                                 ? model_.parameters()[slice.pieces.front().parameter].name
                                 : slice.buffer;
    outputs.push_back(unscaled(name, gradient, pass));
  }
  return outputs;
}

std::vector<NamedTensor> ModelProgram::whole_outputs(const std::string& pass) {
  std::vector<NamedTensor> outputs = results();
  const std::vector<at::Tensor> gradients = shards_.gather_gradients();
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (!gradients[i].defined()) continue;
    outputs.push_back(unscaled(model_.parameters()[i].name, gradients[i], pass));
  }
  return outputs;
}

std::vector<NamedTensor> ModelProgram::whole_parameters() const {
  const std::vector<at::Tensor> values = shards_.gather_parameters();
  std::vector<NamedTensor> parameters;
  for (std::size_t i = 0; i < values.size(); ++i) {
    parameters.push_back({model_.parameters()[i].name, values[i]});
  }
  return parameters;
}

std::vector<Count> ModelProgram::counts(const std::string& pass) {
  const auto& config = model_.config();
  const double forwards = pass == "inference" || pass == "forward" ? 1 : pass == "backward" ? 2 : 3;
  std::vector<Count> counts = {
      {"parameters", "", static_cast<double>(model::count_parameters(config))},
      {"flops", "", forwards * model::forward_flops(config, shape_.batch, shape_.seq_len)}};
  for (const Sent& sent : traffic_->sent()) {
    counts.push_back({"sent_calls", sent.collective, static_cast<double>(sent.calls)});
    counts.push_back({"sent_bytes", sent.collective, static_cast<double>(sent.bytes)});
  }
  return counts;
}

void ModelProgram::record(const std::string& pass, Recorder& recorder) {
  predictions_.record(pass, recorder);
  if (predictions_.predicts()) record_residual_stream(recorder);
  if (communication_) communication_.record(recorder);
  if (pass != "train_step" || !precision_.loss_scaling) return;
  recorder.sample("skipped_steps", "", static_cast<double>(state_.skipped_steps()));
  recorder.sample("loss_scale", "", state_.loss_scale());
}

// As the allocator was asked for it, outside of what is timed.
void ModelProgram::record_residual_stream(Recorder& recorder) const {
  const at::NoGradGuard no_grad;
  const at::Tensor residual = model_.embed(tokens_);
  recorder.sample("tensor_size", "residual_stream",
                  static_cast<double>(residual.storage().nbytes()));
}

void ModelProgram::restart_from(const std::vector<NamedTensor>& parameters) {
  std::vector<at::Tensor> values;
  for (const auto& parameter : parameters) values.push_back(parameter.tensor);
  shards_.load(values);
  state_.reset();
}

void ModelProgram::use_batch(const at::Tensor& tokens, const at::Tensor& targets) {
  tokens_.copy_(tokens);
  targets_.copy_(targets);
}

}  // namespace assay::model_step
