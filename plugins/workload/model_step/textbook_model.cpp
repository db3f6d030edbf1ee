#include "textbook_model.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/bitwise_right_shift.h>
#include <ATen/ops/where.h>

#include <limits>

#include "model/numeric_modes.h"
#include "tiled_attention.h"
#include "verify.h"

namespace assay::model_step {

namespace {

// Two tokens overflow fp16 at the usual 65536.
constexpr double look_loss_scale = 1024;

PrecisionPolicy reference_policy(const PrecisionPolicy& of_case, at::Device device) {
  PrecisionPolicy policy;
  const bool fine = of_case.compute() == at::kDouble;
  policy.parameters = fine ? at::kDouble : at::kFloat;
  policy.tf32 = device.is_cuda() && c10::elementSize(of_case.compute()) < 4;
  return policy;
}

// Elements larger and smaller by the resolution of fp32, in turns of 2^draw.
at::Tensor an_ulp_off(const at::Tensor& x, int draw) {
  constexpr double ulp = std::numeric_limits<float>::epsilon();
  const at::Tensor place = at::arange(x.numel(), x.options().dtype(at::kLong)).view(x.sizes());
  const at::Tensor is_smaller = at::bitwise_right_shift(place, draw).bitwise_and(1) == 1;
  return at::where(is_smaller, x * (1 - ulp), x * (1 + ulp));
}

std::vector<NamedTensor> started_apart(std::vector<NamedTensor> parameters, int draw) {
  for (auto& [name, tensor] : parameters) {
    if (name == "embedding.weight") tensor = an_ulp_off(tensor.detach(), draw);
  }
  return parameters;
}

bool is_backward(const std::string& pass) { return pass != "inference" && pass != "forward"; }

}  // namespace

ReferenceModes::ReferenceModes(const PrecisionPolicy& reference, const PrecisionPolicy& usual,
                               at::Device device)
    : reference_(reference), usual_(usual), device_(device) {
  set();
}

void ReferenceModes::set() const { model::set_numeric_modes(reference_, device_); }

ReferenceModes::~ReferenceModes() { model::set_numeric_modes(usual_, device_); }

TextbookModel::TextbookModel(const LookedAtStep& step, Kind kind, std::int64_t sequences, int draw)
    : step_(step), modes_(policy(step, kind), step.context.precision, step.context.device) {
  CaseContext context = reference_context(step.context, step.context.ops.norm_has_bias);
  context.precision = policy(step, kind);
  if (kind == Kind::usual) context.ops.attention = tiled_attention;
  context.precision.initial_loss_scale = look_loss_scale;
  context.parameters["checkpoint_every"] = std::int64_t{1};
  context.parameters["record_memory"] = false;
  context.parameters["predict"] = false;
  context.group = {};
  context.mesh = {};
  program_.emplace(context, step.config, Shape{sequences, step.tokens.size(1)},
                   /*keep_logits=*/false, /*draws=*/false);
  const bool apart = kind == Kind::usual && is_as_fine_as_reference(context.precision);
  program_->restart_from(apart ? started_apart(step.parameters, draw) : step.parameters);
}

PrecisionPolicy TextbookModel::policy(const LookedAtStep& step, Kind kind) {
  return kind == Kind::usual ? step.context.precision
                             : reference_policy(step.context.precision, step.context.device);
}

std::vector<NamedTensor> TextbookModel::called(const Sequences& of, const std::string& pass) {
  program_->before(pass);
  return added(of, pass);
}

std::vector<NamedTensor> TextbookModel::added(const Sequences& of, const std::string& pass) {
  modes_.set();
  program_->use_batch(step_.tokens.narrow(0, of.first, of.count),
                      step_.targets.narrow(0, of.first, of.count));
  program_->run(pass);
  return program_->outputs(pass);
}

bool is_as_fine_as_reference(const PrecisionPolicy& of_case) {
  return of_case.compute() == at::kFloat && !of_case.tf32;
}

// Parameters and gradients; an attention's matrix with what autograd makes of it; logits; what a
// sequence keeps.
double model_bytes(const model::ModelConfig& config, std::int64_t sequences, std::int64_t seq_len,
                   const std::string& pass) {
  const bool backward = is_backward(pass);
  const auto s = static_cast<double>(seq_len), d = static_cast<double>(config.d_model);
  const double parameters =
      (backward ? 2.0 : 1.0) * static_cast<double>(model::count_parameters(config));
  const double scores = (backward ? 5.0 : 3.0) * static_cast<double>(config.heads) * s * s;
  const double logits = 4 * s * static_cast<double>(config.vocab_size);
  const double kept = s * ((backward ? 2.0 * static_cast<double>(config.layers) : 0) * d + 20 * d +
                           8 * static_cast<double>(config.d_ff));
  return static_cast<double>(sizeof(float)) *
         (parameters + static_cast<double>(sequences) * (scores + logits + kept));
}

double reference_bytes(const model::ModelConfig& config, std::int64_t sequences,
                       std::int64_t seq_len, const std::string& pass) {
  const double usual_gradients =
      is_backward(pass) ? static_cast<double>(model::count_parameters(config)) : 0;
  return model_bytes(config, sequences, seq_len, pass) +
         static_cast<double>(sizeof(float)) * usual_gradients;
}

}  // namespace assay::model_step
