#include "model_program.h"

#include <ATen/core/grad_mode.h>

#include "model/autocast.h"
#include "model/random.h"

namespace assay::model_step {

namespace {

// Ranks share parameters, but not tokens and targets.
std::uint64_t data_seed(const CaseContext& context, std::uint64_t stream) {
  return context.seed + 2 * static_cast<std::uint64_t>(context.group.rank) + stream;
}

model::BlockHooks hooks(CommunicationHandle communication) {
  if (!communication) return {};
  return {[communication](int block) { communication.before_block(block); },
          [communication](int block) { communication.after_block(block); }};
}

}  // namespace

ModelProgram::ModelProgram(const CaseContext& context, const model::ModelConfig& config,
                           const Shape& shape, bool keep_logits)
    : communication_(context.communication),
      ops_(context.ops),
      precision_(context.precision),
      device_(context.device),
      shape_(shape),
      keep_logits_(keep_logits),
      tokens_(model::random_tokens({shape.batch, shape.seq_len}, config.vocab_size, device_,
                                   data_seed(context, 0))),
      targets_(model::random_tokens({shape.batch, shape.seq_len}, config.vocab_size, device_,
                                    data_seed(context, 1))),
      model_(config, context.ops, device_, precision_.parameters, context.seed,
             hooks(communication_)),
      state_(make_state(model_, context)) {
  connect_communication();
}

// The communication variant sees the parameters first and says which ones this rank owns.
model::TrainingState ModelProgram::make_state(const model::Transformer& model,
                                              const CaseContext& context) {
  std::vector<std::size_t> owned;
  if (context.communication) {
    context.communication.attach(model.parameter_tensors(), context.group);
    owned = context.communication.owned_parameters();
  }
  model::AdamWSettings settings;
  settings.max_grad_norm = real_option(context.parameters, "max_grad_norm");
  return {model.parameter_tensors(), std::move(owned), context.precision, settings};
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
}

void ModelProgram::run(const std::string& pass) {
  if (pass == "inference") {
    const at::NoGradGuard no_grad;
    const model::Autocast autocast(device_, precision_.autocast);
    logits_ = model_.forward(tokens_);
  } else if (pass == "forward") {
    forward(/*keep_logits=*/true);
  } else if (pass == "backward") {
    backward();
  } else if (pass == "forward_backward") {
    forward();
    backward();
  } else if (pass == "train_step") {
    train_step();
  } else {
    throw std::invalid_argument("model_step has no pass '" + pass + "'");
  }
}

void ModelProgram::forward(bool keep_logits) {
  const model::Autocast autocast(device_, precision_.autocast);
  const at::Tensor logits = model_.forward(tokens_);
  if (keep_logits || keep_logits_) logits_ = logits.detach();
  loss_ = model_.loss(logits, targets_);
}

void ModelProgram::backward() {
  state_.backward(loss_);
  if (communication_) communication_.backward_finished();
}

void ModelProgram::train_step() {
  forward();
  backward();
  state_.step(ops_);
  if (communication_) communication_.after_step();
}

std::vector<NamedTensor> ModelProgram::outputs(const std::string& pass) {
  std::vector<NamedTensor> outputs;
  if (logits_.defined()) outputs.push_back({"logits", logits_});
  if (loss_.defined()) outputs.push_back({"loss", loss_.detach()});
  // A train step leaves its gradients unscaled.
  const double scale = pass == "train_step" ? 1 : state_.loss_scale();
  for (const auto& parameter : model_.parameters()) {
    const auto& gradient = parameter.tensor.grad();
    if (!gradient.defined()) continue;
    outputs.push_back({"grad." + parameter.name, scale == 1 ? gradient : gradient / scale});
  }
  return outputs;
}

std::vector<Count> ModelProgram::counts(const std::string& pass) {
  const auto& config = model_.config();
  const double forwards = pass == "inference" || pass == "forward" ? 1 : pass == "backward" ? 2 : 3;
  return {{"parameters", "", static_cast<double>(model::count_parameters(config))},
          {"flops", "", forwards * model::forward_flops(config, shape_.batch, shape_.seq_len)}};
}

void ModelProgram::restart_from(const std::vector<NamedTensor>& parameters) {
  model_.load(parameters);
  state_.reset();
}

void ModelProgram::use_batch(const at::Tensor& tokens, const at::Tensor& targets) {
  tokens_.copy_(tokens);
  targets_.copy_(targets);
}

}  // namespace assay::model_step
