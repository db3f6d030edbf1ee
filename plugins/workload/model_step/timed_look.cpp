#include "timed_look.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <assay/reference.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "textbook_model.h"
#include "training/looks.h"
#include "verify.h"

namespace assay::model_step {

namespace {

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
  std::vector<NamedTensor> outputs;         // loss and gradients of this rank's batch
  UsualErrors usual;                        // of the first part, relative to its own outputs
  std::vector<double> norms;                // of these
  std::map<std::string, double> cancelled;  // by how much the batch's are smaller, at least 1
};

// Read together: each reading waits for the device.
std::vector<double> norms_of(const std::vector<NamedTensor>& outputs) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> norms;
  for (const NamedTensor& output : outputs) {
    norms.push_back(at::linalg_vector_norm(output.tensor.detach()).to(at::kDouble));
  }
  const at::Tensor read = at::stack(norms).cpu();
  const auto* const begin = read.const_data_ptr<double>();
  return {begin, begin + read.numel()};
}

// Gradients of sequences differ in direction: their mean may be far smaller than each, its error is
// not.
void find_cancelled(BatchReference& right) {
  const std::vector<double> norms = norms_of(right.outputs);
  for (std::size_t i = 0; i < norms.size(); ++i) {
    right.cancelled[right.outputs[i].name] =
        norms[i] > 0 ? std::max(1.0, right.norms[i] / norms[i]) : 1;
  }
}

UsualErrors usual_errors(const std::vector<NamedTensor>& usual,
                         const std::vector<NamedTensor>& right) {
  UsualErrors errors;
  for (const auto& [name, output] : right) {
    const at::Tensor* beside = tensor_named(usual, name);
    errors[name] =
        beside == nullptr
            ? 0
            : reference::deviation(beside->to(output.device()), output.detach()).larger();
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

// Textbook outputs of the first part, on the host where the GPU lacks the memory for a reference
// beside them.
std::vector<NamedTensor> usual_of_first(const LookedAtStep& step, const Parts& parts) {
  std::vector<NamedTensor> usual = usual_outputs(step, parts[0], Parts::pass);
  const at::Device device = step.context.device;
  if (device.is_cpu()) return usual;
  const Status fit = guarded([&] {
    training::need_memory(
        device, model_bytes(step.config, parts.at_once(), step.tokens.size(1), Parts::pass));
  });
  if (fit.ok()) return usual;
  if (fit.outcome != Outcome::oom) throw PluginFailure(fit);
  double bytes = 0;
  for (const NamedTensor& one : usual) bytes += static_cast<double>(one.tensor.nbytes());
  training::need_host_memory(bytes);
  return training::moved_to_host(std::move(usual));
}

BatchReference whole_batch(const LookedAtStep& step, const Parts& parts) {
  BatchReference made;
  made.usual = step.usual;
  std::vector<NamedTensor> usual;
  if (made.usual.empty()) usual = usual_of_first(step, parts);
  TextbookModel model(step, TextbookModel::Kind::reference, parts.at_once());
  at::Tensor loss;
  for (std::int64_t i = 0; i < parts.number(); ++i) {
    made.outputs =
        i == 0 ? model.called(parts[i], Parts::pass) : model.added(parts[i], Parts::pass);
    if (i == 0) made.norms = norms_of(made.outputs);
    if (!usual.empty()) made.usual = usual_errors(std::exchange(usual, {}), made.outputs);
    const at::Tensor& of_part = made.outputs.front().tensor;
    loss = i == 0 ? of_part.detach().clone() : loss + of_part.detach();
  }
  made.outputs.front().tensor = loss;
  const auto number = static_cast<double>(parts.number());
  for (NamedTensor& output : made.outputs) {
    output.tensor = output.tensor.detach();
    output.tensor.div_(number);
  }
  return made;
}

UsualErrors usual_errors_now(const LookedAtStep& step, const Parts& parts) {
  const auto usual = usual_of_first(step, parts);
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

Verification look_at_sequence(const LookedAtStep& step, TextbookModel& model,
                              std::int64_t sequence) {
  Verification found;
  const Sequences one = {sequence};
  const bool known = step.usual.contains("logits");
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
  return found;
}

// The first look compares all sequences, from the drawn one on, the others that one: what leaves a
// sequence out does so in every call.
Verification look_at_logits(const LookedAtStep& step, std::int64_t drawn) {
  const std::int64_t batch = step.tokens.size(0);
  const std::int64_t sequences = step.usual.contains("logits") ? 1 : batch;
  TextbookModel model(step, TextbookModel::Kind::reference, 1);
  Verification found;
  for (std::int64_t i = 0; i < sequences; ++i) {
    const Verification of_one = look_at_sequence(step, model, (drawn + i) % batch);
    if (i == 0 || of_one.error * found.tolerance > found.error * of_one.tolerance) found = of_one;
    if (found.error > found.tolerance) break;
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

// Of a gradient that rounding changes by a tenth, the error of one kernel says little of another's.
double allowed_of_gradient(double usual, double tolerance) {
  constexpr double mostly_rounding = 0.1;
  const double times =
      usual > mostly_rounding ? 2 * reference::textbook_allowance : reference::textbook_allowance;
  return times * usual + reference::gradient_allowance * tolerance;
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
        gradient ? allowed_of_gradient(right.usual[name] * right.cancelled[name], tolerance)
                 : tolerance;
    reference::compare(found, name, value == nullptr ? at::Tensor() : *value, output, allowed);
  }
  if (const auto usual = right.usual.find(found.worst); usual != right.usual.end()) {
    found.textbook = usual->second * right.cancelled[found.worst];
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
void share_largest(const CaseContext& context, std::map<std::string, double>& by_output) {
  if (!gradients_travel(context)) return;
  std::vector<double> values;
  for (const auto& [name, value] : by_output) values.push_back(value);
  at::Tensor largest =
      at::tensor(values, at::kDouble).to(training::meeting_device(context.group, context.device));
  training::largest_of_ranks(context.group, largest);
  largest = largest.cpu();
  const auto* of_all = largest.const_data_ptr<double>();
  for (auto& [name, value] : by_output) value = *of_all++;
}

// All ranks together. What an earlier look found usual may not be so now: where a rank would find
// an error all judge by what is usual in this call.
Verification compare_batch(const LookedAtStep& step, const Parts& parts, BatchReference& right,
                           const OnAllRanks& on_all_ranks) {
  const double most = real_option(step.context.parameters, "max_grad_norm");
  const bool known = !step.usual.empty();
  if (!known) share_largest(step.context, right.usual);
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
  share_largest(step.context, right.usual);
  step.usual = right.usual;
  made = on_all_ranks([&] { found = compare_outputs(step, right); });
  return made.ok() ? found : training::left_out(made.reason);
}

}  // namespace

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
  find_cancelled(right);
  share_largest(context, right.cancelled);
  return compare_batch(step, *parts, right, on_all_ranks);
}

}  // namespace assay::model_step
