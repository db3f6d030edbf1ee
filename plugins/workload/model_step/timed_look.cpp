#include "timed_look.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <assay/reference.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "model/numeric_modes.h"
#include "model_program.h"
#include "tiled_attention.h"
#include "training/looks.h"
#include "verify.h"

namespace assay::model_step {

namespace {

// Two tokens overflow fp16 at the usual 65536.
constexpr double look_loss_scale = 1024;
// How many times a gradient's error may be that of textbook operations, beside so many tolerances.
constexpr double gradient_factor = 4;
constexpr double gradient_floor = 2;

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

// Sequences of the batch, one behind another.
struct Sequences {
  std::int64_t first = 0;
  std::int64_t count = 1;
};

// The model of a looked-at step with textbook operations, for so many sequences at a time: as the
// reference, or in the case's own precision, whose errors grow with the model's depth.
class TextbookModel {
 public:
  enum class Kind { reference, usual };

  TextbookModel(const LookedAtStep& step, Kind kind, std::int64_t sequences)
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
    program_->restart_from(step.parameters);
  }

  std::vector<NamedTensor> called(const Sequences& of, const std::string& pass) {
    program_->use_batch(step_.tokens.narrow(0, of.first, of.count),
                        step_.targets.narrow(0, of.first, of.count));
    program_->before(pass);
    program_->run(pass);
    return program_->outputs(pass);
  }

 private:
  static PrecisionPolicy policy(const LookedAtStep& step, Kind kind) {
    return kind == Kind::usual ? step.context.precision
                               : reference_policy(step.context.precision, step.context.device);
  }

  const LookedAtStep& step_;
  ReferenceModes modes_;
  std::optional<ModelProgram> program_;
};

std::vector<NamedTensor> usual_outputs(const LookedAtStep& step, const Sequences& of,
                                       const std::string& pass) {
  return TextbookModel(step, TextbookModel::Kind::usual, of.count).called(of, pass);
}

// A GPU with the memory for it is not kept waiting for the host by single sequences.
std::int64_t sequences_at_once(const LookedAtStep& step, const std::string& pass) {
  const std::int64_t batch = step.tokens.size(0);
  if (step.context.device.is_cpu()) return 1;
  const Status fit = guarded([&] {
    training::need_memory(step.context.device,
                          reference_bytes(step.config, batch, step.tokens.size(1), pass));
  });
  if (!fit.ok() && fit.outcome != Outcome::oom) throw PluginFailure(fit);
  return fit.ok() ? batch : 1;
}

using OnAllRanks = std::function<Status(const std::function<void()>& work)>;

struct BatchReference {
  std::vector<NamedTensor> outputs;  // loss and gradients of this rank's batch
  UsualErrors usual;
};

// As compare_beside() has it.
double usual_error(const at::Tensor& usual, const at::Tensor& reference) {
  const reference::Deviation found = reference::deviation(usual, reference);
  return std::max(found.whole, found.row / reference::row_allowance);
}

UsualErrors usual_errors(const std::vector<NamedTensor>& usual,
                         const std::vector<NamedTensor>& right) {
  UsualErrors errors;
  for (const auto& [name, output] : right) {
    const at::Tensor* beside = tensor_named(usual, name);
    errors[name] = beside == nullptr ? 0 : usual_error(*beside, output.detach());
  }
  return errors;
}

// A batch in parts of as many sequences as are taken at once, from a drawn one on.
class Parts {
 public:
  Parts(const LookedAtStep& step, std::int64_t drawn)
      : batch_(step.tokens.size(0)), at_once_(sequences_at_once(step, pass)), drawn_(drawn) {}

  static constexpr const char* pass = "forward_backward";
  std::int64_t at_once() const { return at_once_; }
  std::int64_t number() const { return batch_ / at_once_; }
  Sequences operator[](std::int64_t i) const {
    return {at_once_ == batch_ ? 0 : (drawn_ + i) % batch_, at_once_};
  }

 private:
  std::int64_t batch_, at_once_, drawn_;
};

BatchReference whole_batch(const LookedAtStep& step, const Parts& parts) {
  BatchReference made;
  made.usual = step.usual;
  std::vector<NamedTensor> usual;
  if (made.usual.empty()) usual = usual_outputs(step, parts[0], Parts::pass);
  TextbookModel model(step, TextbookModel::Kind::reference, parts.at_once());
  for (std::int64_t i = 0; i < parts.number(); ++i) {
    const auto outputs = model.called(parts[i], Parts::pass);
    if (!usual.empty()) made.usual = usual_errors(std::exchange(usual, {}), outputs);
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      const at::Tensor share = outputs[k].tensor.detach() / static_cast<double>(parts.number());
      if (i == 0) made.outputs.push_back({outputs[k].name, share});
      if (i > 0) made.outputs[k].tensor += share;
    }
  }
  return made;
}

UsualErrors usual_errors_now(const LookedAtStep& step, const Parts& parts) {
  const auto usual = usual_outputs(step, parts[0], Parts::pass);
  TextbookModel model(step, TextbookModel::Kind::reference, parts.at_once());
  return usual_errors(usual, model.called(parts[0], Parts::pass));
}

void compare_logits(const LookedAtStep& step, std::int64_t sequence, const at::Tensor& right,
                    Verification& found) {
  const double tolerance = reference::tolerance(step.context.precision);
  const at::Tensor* logits = tensor_named(step.values, "logits");
  const double error = step.usual["logits"];
  found = {};
  reference::compare(found, "logits of sequence " + std::to_string(sequence),
                     logits == nullptr ? at::Tensor() : logits->narrow(0, sequence, 1), right,
                     reference::textbook_allowance * error + reference::textbook_floor * tolerance);
  found.textbook = error;
}

Verification look_at_logits(const LookedAtStep& step, std::int64_t sequence) {
  Verification found;
  const Sequences one = {sequence};
  const bool known = step.usual.contains("logits");
  TextbookModel model(step, TextbookModel::Kind::reference, 1);
  const at::Tensor right = *tensor_named(model.called(one, "inference"), "logits");
  const auto learn = [&] {
    const auto usual = usual_outputs(step, one, "inference");
    step.usual["logits"] = reference::deviation(*tensor_named(usual, "logits"), right).whole;
  };
  if (!known) learn();
  compare_logits(step, sequence, right, found);
  if (known && found.error > found.tolerance) {
    learn();
    compare_logits(step, sequence, right, found);
  }
  const at::Tensor* logits = tensor_named(step.values, "logits");
  const at::Tensor* loss = tensor_named(step.values, "loss");
  if (logits == nullptr || loss == nullptr) return found;
  const at::NoGradGuard no_grad;
  reference::compare(found, "loss", *loss, loss_of_logits(*logits, step.targets),
                     reference::tolerance(step.context.precision));
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

// With the gradients of the reference, or where they have overflown in the loss alone.
Verification compare_outputs(const LookedAtStep& step, BatchReference& right) {
  const PrecisionPolicy& precision = step.context.precision;
  const double tolerance = reference::tolerance(precision);
  // Without loss scaling only what the reference itself makes of a training step may overflow.
  const bool skipped = precision.loss_scaling
                           ? training::overflown(step.values)
                           : step.pass == "train_step" && training::overflown(right.outputs);
  Verification found;
  for (const auto& [name, output] : right.outputs) {
    const bool gradient = name != "loss";
    if (gradient && skipped) continue;
    const at::Tensor* value = tensor_named(step.values, name);
    const double allowed =
        gradient ? gradient_factor * right.usual[name] + gradient_floor * tolerance : tolerance;
    reference::compare(found, name, value == nullptr ? at::Tensor() : *value, output, allowed);
  }
  if (!skipped || found.error > found.tolerance) return found;
  // Where it has fallen below 1 it is not the scale that makes them overflow.
  if (precision.loss_scaling && step.loss_scale < 1 && !training::overflown(right.outputs)) {
    return {.checked = true,
            .error = std::numeric_limits<double>::infinity(),
            .tolerance = tolerance,
            .worst = "a gradient, which overflows at a loss scale below 1,"};
  }
  return training::left_out("gradients have overflown, and the step is skipped");
}

// A rank's gradients are the mean of all ranks', whose errors may be another's.
void share_usual(const CaseContext& context, UsualErrors& usual) {
  if (!gradients_travel(context)) return;
  std::vector<double> errors;
  for (const auto& [name, error] : usual) errors.push_back(error);
  at::Tensor largest =
      at::tensor(errors, at::kDouble).to(training::meeting_device(context.group, context.device));
  training::largest_of_ranks(context.group, largest);
  largest = largest.cpu();
  const auto* of_all = largest.const_data_ptr<double>();
  for (auto& [name, error] : usual) error = *of_all++;
}

// All ranks together. What an earlier look found usual may not be so now: where a rank would find
// an error all judge by what is usual in this call.
Verification compare_batch(const LookedAtStep& step, const Parts& parts, BatchReference& right,
                           const OnAllRanks& on_all_ranks) {
  const double most = real_option(step.context.parameters, "max_grad_norm");
  const bool known = !step.usual.empty();
  if (!known) share_usual(step.context, right.usual);
  step.usual = right.usual;
  Verification found;
  Status made = on_all_ranks([&] {
    if (step.pass == "train_step" && most > 0) limit_gradients(right.outputs, most);
    found = compare_outputs(step, right);
  });
  const bool passes = !found.checked || found.error <= found.tolerance;
  if (!made.ok()) return training::left_out(made.reason);
  if (!known || training::all_ranks(step.context.group, step.context.device, passes)) return found;
  made = on_all_ranks([&] { right.usual = usual_errors_now(step, parts); });
  if (!made.ok()) return training::left_out(made.reason);
  share_usual(step.context, right.usual);
  step.usual = right.usual;
  made = on_all_ranks([&] { found = compare_outputs(step, right); });
  return made.ok() ? found : training::left_out(made.reason);
}

}  // namespace

// Parameters, gradients, their sum over sequences and a share of it, and the usual gradients; an
// attention's matrix with what autograd makes of it; logits; what a sequence keeps.
double reference_bytes(const model::ModelConfig& config, std::int64_t sequences,
                       std::int64_t seq_len, const std::string& pass) {
  const bool backward = pass != "inference" && pass != "forward";
  const auto s = static_cast<double>(seq_len), d = static_cast<double>(config.d_model);
  const double parameters =
      (backward ? 5.0 : 1.0) * static_cast<double>(model::count_parameters(config));
  const double scores = (backward ? 5.0 : 3.0) * static_cast<double>(config.heads) * s * s;
  const double logits = 4 * s * static_cast<double>(config.vocab_size);
  const double kept = s * ((backward ? 2.0 * static_cast<double>(config.layers) : 0) * d + 20 * d +
                           8 * static_cast<double>(config.d_ff));
  return static_cast<double>(sizeof(float)) *
         (parameters + static_cast<double>(sequences) * (scores + logits + kept));
}

Verification look_at_step(const LookedAtStep& step, std::uint64_t seed) {
  const std::int64_t drawn =
      reference::drawn_below(step.tokens.size(0), 1, seed).item<std::int64_t>();
  const CaseContext& context = step.context;
  const OnAllRanks on_all_ranks = [&](const std::function<void()>& work) {
    return training::with_memory_on_all_ranks(context.group, context.device, work);
  };
  Verification found;
  if (step.pass == "inference" || step.pass == "forward") {
    const Status looked = on_all_ranks([&] { found = look_at_logits(step, drawn); });
    return looked.ok() ? found : training::left_out(looked.reason);
  }
  std::optional<Parts> parts;
  BatchReference right;
  const Status made = on_all_ranks([&] {
    parts.emplace(step, drawn);
    right = whole_batch(step, *parts);
  });
  if (!made.ok()) return training::left_out(made.reason);
  if (gradients_travel(context)) training::average_gradients(context.group, right.outputs);
  return compare_batch(step, *parts, right, on_all_ranks);
}

void compare_ranks(const CaseContext& context, const std::vector<NamedTensor>& parameters,
                   Verification& verification) {
  if (!gradients_travel(context)) return;
  at::Tensor own, mean;
  const Status made = training::with_memory_on_all_ranks(context.group, context.device, [&] {
    std::vector<at::Tensor> norms;
    for (const NamedTensor& parameter : parameters) {
      norms.push_back(parameter.tensor.detach().to(at::kFloat).norm());
    }
    own = at::stack(norms).to(training::meeting_device(context.group, context.device));
    mean = own.clone();
  });
  if (!made.ok()) return;
  training::sum_of_ranks(context.group, mean);
  mean.div_(static_cast<double>(context.group.size));
  reference::compare(verification, "this rank's parameters", own, mean.to(at::kDouble),
                     reference::tolerance(at::kFloat));
}

}  // namespace assay::model_step
