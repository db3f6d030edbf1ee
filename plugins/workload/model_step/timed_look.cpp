#include "timed_look.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <assay/reference.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "model/numeric_modes.h"
#include "model_program.h"
#include "verify.h"

namespace assay::model_step {

namespace {

constexpr std::int64_t elements_of_a_slice = 64;
// Two tokens overflow fp16 at the usual 65536.
constexpr double look_loss_scale = 1024;
// How many times a gradient's error may be that of textbook operations, beside so many tolerances.
constexpr double gradient_factor = 4;
constexpr double gradient_floor = 2;
constexpr double movement_allowance = 10;

// The reference's own numeric modes; the case's afterwards.
class ReferenceModes {
 public:
  ReferenceModes(const PrecisionPolicy& reference, const PrecisionPolicy& usual, at::Device device)
      : usual_(usual), device_(device) {
    model::set_numeric_modes(reference, device_);
  }
  ~ReferenceModes() { model::set_numeric_modes(usual_, device_); }
  ReferenceModes(const ReferenceModes&) = delete;
  ReferenceModes& operator=(const ReferenceModes&) = delete;

 private:
  PrecisionPolicy usual_;
  at::Device device_;
};

PrecisionPolicy reference_policy(const PrecisionPolicy& of_case, at::Device device) {
  PrecisionPolicy policy;
  const bool fine = of_case.compute() == at::kDouble;
  policy.parameters = fine ? at::kDouble : at::kFloat;
  policy.tf32 = device.is_cuda() && c10::elementSize(of_case.compute()) < 4;
  return policy;
}

at::Tensor sum_over_ranks(const Group& group, at::Tensor tensor) {
  std::vector<at::Tensor> one = {tensor};
  group.backend->allreduce(one)->wait();
  return tensor;
}

const at::Tensor* tensor_named(const std::vector<NamedTensor>& tensors, const std::string& name) {
  const auto found = std::ranges::find(tensors, name, &NamedTensor::name);
  return found == tensors.end() ? nullptr : &found->tensor;
}

// Over all positions, a sequence at a time, in float64.
at::Tensor loss_of_logits(const at::Tensor& logits, const at::Tensor& targets) {
  std::vector<at::Tensor> losses;
  for (std::int64_t sequence = 0; sequence < logits.size(0); ++sequence) {
    losses.push_back(at::cross_entropy_loss(logits[sequence].to(at::kDouble), targets[sequence]));
  }
  return at::stack(losses).mean();
}

// The model of a looked-at step with textbook operations in some precision, for one sequence.
class OneSequence {
 public:
  OneSequence(const LookedAtStep& step, const PrecisionPolicy& policy)
      : step_(step), modes_(policy, step.context.precision, step.context.device) {
    CaseContext context = reference_context(step.context, step.context.ops.norm_has_bias);
    context.precision = policy;
    context.precision.initial_loss_scale = look_loss_scale;
    context.parameters["checkpoint_every"] = std::int64_t{1};
    context.parameters["record_memory"] = false;
    context.parameters["predict"] = false;
    context.group = {};
    context.mesh = {};
    program_.emplace(context, step.config, Shape{1, step.tokens.size(1)});
    program_->restart_from(step.parameters);
  }

  std::vector<NamedTensor> called(std::int64_t sequence, const std::string& pass) {
    program_->use_batch(step_.tokens.narrow(0, sequence, 1), step_.targets.narrow(0, sequence, 1));
    program_->before(pass);
    program_->run(pass);
    return program_->outputs(pass);
  }

 private:
  const LookedAtStep& step_;
  ReferenceModes modes_;
  std::optional<ModelProgram> program_;
};

// Outputs of one sequence in the case's own precision: their errors grow with the model's depth.
std::vector<NamedTensor> usual_outputs(const LookedAtStep& step, std::int64_t sequence,
                                       const std::string& pass) {
  OneSequence model(step, step.context.precision);
  return model.called(sequence, pass);
}

struct BatchReference {
  std::vector<NamedTensor> outputs;     // loss and gradients of this rank's batch
  std::map<std::string, double> usual;  // error of textbook operations in the case's precision
};

BatchReference whole_batch(const LookedAtStep& step, std::int64_t drawn) {
  constexpr const char* pass = "forward_backward";
  std::vector<NamedTensor> usual = usual_outputs(step, drawn, pass);
  OneSequence model(step, reference_policy(step.context.precision, step.context.device));
  const std::int64_t batch = step.tokens.size(0);
  BatchReference made;
  for (std::int64_t i = 0; i < batch; ++i) {
    const auto outputs = model.called((drawn + i) % batch, pass);
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      const at::Tensor share = outputs[k].tensor.detach() / static_cast<double>(batch);
      if (i > 0) {
        made.outputs[k].tensor += share;
        continue;
      }
      const at::Tensor* beside = tensor_named(usual, outputs[k].name);
      made.usual[outputs[k].name] =
          beside == nullptr ? 0 : reference::deviation(*beside, outputs[k].tensor).whole;
      made.outputs.push_back({outputs[k].name, share});
    }
    usual.clear();
  }
  return made;
}

Verification look_at_logits(const LookedAtStep& step, std::int64_t sequence) {
  Verification found;
  const double tolerance = reference::tolerance(step.context.precision);
  const at::Tensor* logits = tensor_named(step.values, "logits");
  const auto usual = usual_outputs(step, sequence, "inference");
  OneSequence model(step, reference_policy(step.context.precision, step.context.device));
  const at::Tensor right = *tensor_named(model.called(sequence, "inference"), "logits");
  const double error = reference::deviation(*tensor_named(usual, "logits"), right).whole;
  reference::compare(found, "logits of sequence " + std::to_string(sequence),
                     logits == nullptr ? at::Tensor() : logits->narrow(0, sequence, 1), right,
                     reference::textbook_allowance * error + reference::textbook_floor * tolerance);
  found.textbook = error;
  const at::Tensor* loss = tensor_named(step.values, "loss");
  if (logits == nullptr || loss == nullptr) return found;
  const at::NoGradGuard no_grad;
  reference::compare(found, "loss", *loss, loss_of_logits(*logits, step.targets), tolerance);
  return found;
}

// Scales as the optimizer does, which leaves gradients scaled.
void limit_gradients(std::vector<NamedTensor>& outputs, double most) {
  double squares = 0;
  for (const NamedTensor& output : outputs) {
    if (!output.name.starts_with("grad.")) continue;
    const double norm = output.tensor.norm().item<double>();
    squares += norm * norm;
  }
  const double factor = most / std::sqrt(squares);
  if (factor >= 1) return;
  for (NamedTensor& output : outputs) {
    if (output.name.starts_with("grad.")) output.tensor *= factor;
  }
}

bool all_have(const Group& group, at::Device device, bool own) {
  if (group.size == 1) return own;
  const bool on_device = group.backend->getBackendName() == "nccl";
  const auto lacking = at::zeros(
      {1}, at::TensorOptions().dtype(at::kFloat).device(on_device ? device : at::Device(at::kCPU)));
  lacking.fill_(own ? 0 : 1);
  return sum_over_ranks(group, lacking).item<float>() == 0;
}

}  // namespace

Verification look_at_step(const LookedAtStep& step, std::uint64_t seed) {
  const std::int64_t drawn =
      reference::drawn_below(step.tokens.size(0), 1, seed).item<std::int64_t>();
  if (step.pass == "inference" || step.pass == "forward") return look_at_logits(step, drawn);
  const CaseContext& context = step.context;
  BatchReference right;
  try {
    right = whole_batch(step, drawn);
  } catch (const c10::OutOfMemoryError&) {
    right = {};
  }
  const bool travels = gradients_travel(context);
  if (!all_have(travels ? context.group : Group{}, context.device, !right.outputs.empty())) {
    return {};
  }
  for (NamedTensor& output : right.outputs) {
    if (!travels || output.name == "loss") continue;
    sum_over_ranks(context.group, output.tensor).div_(static_cast<double>(context.group.size));
  }
  const double most = real_option(context.parameters, "max_grad_norm");
  if (step.pass == "train_step" && most > 0) limit_gradients(right.outputs, most);
  Verification found;
  const double tolerance = reference::tolerance(context.precision);
  for (const auto& [name, output] : right.outputs) {
    const at::Tensor* value = tensor_named(step.values, name);
    const bool gradient = name != "loss";
    const bool overflown = gradient && context.precision.loss_scaling && value != nullptr &&
                           !value->isfinite().all().item<bool>();
    if (overflown) return {};  // the step is skipped
    const double allowed =
        gradient ? gradient_factor * right.usual[name] + gradient_floor * tolerance : tolerance;
    reference::compare(found, name, value == nullptr ? at::Tensor() : *value, output, allowed);
  }
  return found;
}

void compare_ranks(const CaseContext& context, const std::vector<NamedTensor>& parameters,
                   Verification& verification) {
  if (!gradients_travel(context)) return;
  std::vector<at::Tensor> norms;
  for (const NamedTensor& parameter : parameters) {
    norms.push_back(parameter.tensor.detach().to(at::kFloat).norm());
  }
  const bool on_device = context.group.backend->getBackendName() == "nccl";
  const at::Tensor own = at::stack(norms).to(on_device ? context.device : at::Device(at::kCPU));
  const at::Tensor mean =
      sum_over_ranks(context.group, own.clone()).div_(static_cast<double>(context.group.size));
  reference::compare(verification, "this rank's parameters", own, mean.to(at::kDouble),
                     reference::tolerance(at::kFloat));
}

Movement::Movement(const training::TrainingState& state, const CaseContext& context) {
  const std::size_t slices = state.slices().size();
  const std::size_t kept = state.optimizer_state().size();
  const bool known = kept == 3 * slices || kept == 4 * slices;
  if (context.group.size > 1 || context.precision.loss_scaling || !known) return;
  for (std::size_t i = 0; i < slices; ++i) {
    const at::Tensor& values = state.slices()[i].values;
    if (kept == 3 * slices && values.element_size() < 4) return;  // a step may round to nothing
    kept_.push_back(taken(
        state, i,
        reference::drawn_below(values.numel(), elements_of_a_slice, reference::fresh_seed())));
  }
}

Movement::Elements Movement::taken(const training::TrainingState& state, std::size_t slice,
                                   const at::Tensor& places) {
  const std::size_t slices = state.slices().size();
  const std::vector<at::Tensor> kept = state.optimizer_state();
  const bool masters = kept.size() == 4 * slices;
  const std::size_t first = masters ? slices : 0;
  const auto some = [&](const at::Tensor& tensor) {
    return tensor.detach()
        .reshape({-1})
        .index_select(0, places.to(tensor.device()))
        .to(at::kCPU, at::kDouble);
  };
  return {places, some(masters ? kept[slice] : state.slices()[slice].values),
          some(kept[first + slice]), some(kept[first + slices + slice]),
          kept[first + 2 * slices + slice].item<double>()};
}

void Movement::compare(const training::TrainingState& state, double tolerance,
                       Verification& verification) const {
  const at::NoGradGuard no_grad;
  const training::AdamWSettings settings;
  std::vector<at::Tensor> moved, expected;
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    const Elements& old = kept_[i];
    const at::Tensor& gradients = state.slices()[i].values.grad();
    if (!gradients.defined()) return;
    const auto g = gradients.reshape({-1})
                       .index_select(0, old.places.to(gradients.device()))
                       .to(at::kCPU, at::kDouble);
    const double step = old.step + 1;
    const auto m = old.first * settings.beta1 + g * (1 - settings.beta1);
    const auto v = old.second * settings.beta2 + g * g * (1 - settings.beta2);
    const auto root = (v / (1 - std::pow(settings.beta2, step))).sqrt_() + settings.eps;
    expected.push_back(old.value * (-settings.learning_rate * settings.weight_decay) -
                       m / root * (settings.learning_rate / (1 - std::pow(settings.beta1, step))));
    moved.push_back(taken(state, i, old.places).value - old.value);
  }
  if (moved.empty()) return;
  reference::compare(verification, "the parameters' step", at::cat(moved), at::cat(expected),
                     movement_allowance * tolerance);
}

}  // namespace assay::model_step
