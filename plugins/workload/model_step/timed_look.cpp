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

#include "batch_reference.h"
#include "limited_gradients.h"
#include "training/looks.h"
#include "verify.h"

namespace assay::model_step {

namespace {

// Over all positions, a sequence at a time, in float64.
at::Tensor loss_of_logits(const at::Tensor& logits, const at::Tensor& targets) {
  std::vector<at::Tensor> losses;
  for (std::int64_t sequence = 0; sequence < logits.size(0); ++sequence) {
    losses.push_back(at::cross_entropy_loss(logits[sequence].to(at::kDouble), targets[sequence]));
  }
  return at::stack(losses).mean();
}

using OnAllRanks = std::function<Status(const std::function<void()>& work)>;

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

// The more of a gradient rounding changes, the less the error of one kernel says of another's:
// twice as much is allowed from a tenth on. Kernels may make products in fp32 of split operands,
// which leave 2^-22 where a textbook's leave 2^-24. An error that is no number allows nothing.
double allowed_of_gradient(double usual, const PrecisionPolicy& precision) {
  constexpr double mostly_rounding = 0.1;
  constexpr double split_products = 4;
  const double floor = reference::gradient_allowance * reference::tolerance(precision);
  if (!std::isfinite(usual)) return floor;
  const double expected = is_as_fine_as_reference(precision) ? split_products * usual : usual;
  return reference::textbook_allowance * (1 + std::min(1.0, usual / mostly_rounding)) * expected +
         floor;
}

AllowedErrors allowed_of_gradients(const UsualErrors& usual, const PrecisionPolicy& precision) {
  AllowedErrors allowed;
  for (const auto& [name, error] : usual) allowed[name] = allowed_of_gradient(error, precision);
  return allowed;
}

// With the gradients of the reference, `factor` times as long, or where they have overflown in the
// loss alone. `usual`: the errors of textbook operations over the batch. limit: of a step that has
// one.
Verification compare_outputs(const LookedAtStep& step, const std::vector<NamedTensor>& right,
                             UsualErrors usual, const std::optional<GradientLimit>& limit,
                             double factor = 1) {
  const PrecisionPolicy& precision = step.context.precision;
  const double tolerance = reference::tolerance(precision);
  // Without loss scaling only what the reference itself makes of a training step may overflow.
  const bool skipped = precision.loss_scaling
                           ? training::overflown(step.values)
                           : step.pass == "train_step" && training::overflown(right);
  Verification found;
  for (const auto& [name, output] : right) {
    const bool gradient = name != "loss";
    if (gradient && skipped) continue;
    const at::Tensor* value = tensor_named(step.values, name);
    reference::compare(found, name, value == nullptr ? at::Tensor() : *value,
                       gradient && factor != 1 ? output * factor : output,
                       gradient ? allowed_of_gradient(usual[name], precision) : tolerance);
  }
  if (limit && !skipped && limit->of_values > limit->most) {
    reference::compare(found, "the norm of all gradients",
                       at::tensor(limit->of_values, at::kDouble),
                       at::tensor(limit->most, at::kDouble), tolerance);
  }
  if (const auto of_worst = usual.find(found.worst); of_worst != usual.end()) {
    found.textbook = of_worst->second;
  }
  if (!skipped || found.error > found.tolerance) return found;
  // Where it has fallen below 1 it is not the scale that makes them overflow.
  if (precision.loss_scaling && step.loss_scale < 1 && !training::overflown(right)) {
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

bool passes(const Verification& found) { return !found.checked || found.error <= found.tolerance; }

// A loss that is off is, and what is no number, whatever is usual.
bool may_be_usual(const Verification& found) {
  return passes(found) || (found.worst != "loss" && std::isfinite(found.error));
}

// Of the first sequences taken, as far as the batch's gradients cancel. All ranks together.
UsualErrors expected_errors(const LookedAtStep& step, const BatchReference& right) {
  UsualErrors by = cancelled(right), expected;
  share_largest(step.context, by);
  for (const auto& [name, error] : step.usual) expected[name] = error * by[name];
  return expected;
}

// A single error may be next to nothing by chance, where few directions make it up: if one does,
// eight times one draw's error, which is allowed, lies below a kernel's in 8 of 100 cases, eight
// times the largest of so many draws in less than one of 100,000.
int draws_of_usual(const PrecisionPolicy& precision) {
  return is_as_fine_as_reference(precision) ? 8 : 1;
}

// Of draws so far and one more. A draw that is no number says nothing.
void keep_larger(UsualErrors& errors, const UsualErrors& further) {
  for (const auto& [name, error] : further) {
    const auto [place, is_first] = errors.try_emplace(name, error);
    double& kept = place->second;
    if (is_first || !std::isfinite(error)) continue;
    kept = std::isfinite(kept) ? std::max(kept, error) : error;
  }
}

// By which a step's own norm makes its gradients longer than `right`.
double factor_of(const LookedAtStep& step, const std::vector<NamedTensor>& right,
                 const UsualErrors& usual, const std::optional<GradientLimit>& limit) {
  if (!limit) return 1;
  const PrecisionPolicy& precision = step.context.precision;
  return factor_of_own_norm(*limit, step.values, right, allowed_of_gradients(usual, precision),
                            reference::tolerance(precision));
}

// All ranks together. One sequence's errors tell little of another's, whose gradient may be twenty
// times as large, and what an earlier look found usual may not be so now: where a rank would find
// an error all judge by what is usual of this call's batch.
Verification compare_batch(const LookedAtStep& step, const Parts& parts, BatchReference& right,
                           const OnAllRanks& on_all_ranks) {
  const Group& group = step.context.group;
  const at::Device device = step.context.device;
  const double most = real_option(step.context.parameters, "max_grad_norm");
  if (step.usual.empty()) {
    share_largest(step.context, right.usual);
    step.usual = right.usual;
  }
  const UsualErrors expected = expected_errors(step, right);
  std::optional<GradientLimit> limit;
  Verification found;
  Status made = on_all_ranks([&] {
    if (step.pass == "train_step" && most > 0) {
      limit = {.most = most,
               .norm = norm_of_gradients(right.outputs),
               .of_values = norm_of_gradients(step.values)};
      scale_gradients(right.outputs, limit->factor());
    }
    found = compare_outputs(step, right.outputs, expected, limit);
  });
  if (!made.ok()) return training::left_out(made.reason);
  if (training::all_ranks(group, device, passes(found))) return found;
  if (!training::all_ranks(group, device, may_be_usual(found))) return found;
  UsualErrors errors;
  for (int draw = 0; draw < draws_of_usual(step.context.precision); ++draw) {
    std::vector<NamedTensor> usual;
    made = on_all_ranks([&] { usual = usual_of_batch(step, parts, right.outputs, draw); });
    if (!made.ok()) return training::left_out(made.reason);
    if (gradients_travel(step.context)) training::average_gradients(group, usual);
    made = on_all_ranks([&] {
      if (limit) scale_gradients(usual, limit->factor());
      keep_larger(errors, usual_errors(std::exchange(usual, {}), right.outputs));
      found = compare_outputs(step, right.outputs, errors, limit,
                              factor_of(step, right.outputs, errors, limit));
    });
    if (!made.ok()) return training::left_out(made.reason);
    if (training::all_ranks(group, device, passes(found))) break;
  }
  return found;
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
  return compare_batch(step, *parts, right, on_all_ranks);
}

}  // namespace assay::model_step
