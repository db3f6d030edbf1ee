#include "conformance/tiny_model.h"

#include <ATen/core/grad_mode.h>
#include <assay/reference.h>

#include "model/autocast.h"
#include "model/random.h"

namespace assay::conformance {

namespace {

constexpr std::int64_t batch = 2;
constexpr std::int64_t seq_len = 17;

model::ModelConfig tiny_config() {
  model::ModelConfig config;
  config.d_model = 32;
  config.d_ff = 48;
  config.layers = 2;
  config.heads = 2;
  config.vocab_size = 61;
  config.context = seq_len;
  return config;
}

at::Tensor tokens(const at::Device& device, std::uint64_t seed) {
  return model::random_tokens({batch, seq_len}, tiny_config().vocab_size, device, seed);
}

}  // namespace

CaseContext textbook_context(const at::Device& device) {
  CaseContext context;
  context.device = device;
  context.seed = 23;
  context.ops = reference::operations(/*norm_has_bias=*/false);
  return context;
}

TinyModel::TinyModel(const CaseContext& context)
    : device_(context.device),
      precision_(context.precision),
      ops_(context.ops),
      tokens_(tokens(device_, 1)),
      targets_(tokens(device_, 2)),
      model_(tiny_config(), ops_, device_, precision_.parameters, context.seed),
      state_(model_.parameter_tensors(), precision_) {}

const std::vector<std::string>& TinyModel::passes() {
  static const std::vector<std::string> names = {"inference", "forward", "backward",
                                                 "forward_backward", "train_step"};
  return names;
}

void TinyModel::before(const std::string& pass) {
  loss_ = at::Tensor();
  logits_ = at::Tensor();
  state_.clear_gradients();
  if (pass == "backward") forward();
  if (pass == "train_step") state_.make_moments();
}

void TinyModel::run(const std::string& pass) {
  if (pass == "inference") {
    const at::NoGradGuard no_grad;
    const model::Autocast autocast(device_, precision_.autocast);
    logits_ = model_.forward(tokens_);
    return;
  }
  if (pass != "backward") forward();
  if (pass != "forward") state_.backward(loss_);
  if (pass == "train_step") state_.step(ops_);
}

void TinyModel::forward() {
  const model::Autocast autocast(device_, precision_.autocast);
  const at::Tensor logits = model_.forward(tokens_);
  logits_ = logits.detach();
  loss_ = model_.loss(logits, targets_);
}

std::vector<NamedTensor> TinyModel::outputs(const std::string& pass) {
  std::vector<NamedTensor> outputs = {{"logits", logits_}};
  if (loss_.defined()) outputs.push_back({"loss", loss_.detach()});
  // A train step leaves its gradients unscaled.
  const double scale = pass == "train_step" ? 1 : state_.loss_scale();
  for (const auto& [name, tensor] : model_.parameters()) {
    const auto& gradient = tensor.grad();
    if (gradient.defined()) {
      // In fp32: what scaling saved from underflow would be lost again in fp16.
      outputs.push_back({"grad." + name, scale == 1 ? gradient : gradient.to(at::kFloat) / scale});
    }
    if (pass == "train_step") outputs.push_back({"parameter." + name, tensor.detach()});
  }
  return outputs;
}

void TinyModel::draw_tokens(std::uint64_t seed) {
  tokens_.copy_(tokens(device_, 2 * seed + 1));
  targets_.copy_(tokens(device_, 2 * seed + 2));
}

void TinyModel::scale_parameters(double factor) {
  const at::NoGradGuard no_grad;
  for (auto& parameter : model_.parameter_tensors()) parameter.mul_(factor);
}

void TinyModel::restart_from(const TinyModel& other) {
  model_.load(other.model_.parameters());
  state_.reset();
}

}  // namespace assay::conformance
