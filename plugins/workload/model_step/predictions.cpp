#include "predictions.h"

#ifdef ASSAY_WITH_CUDA
#include <ATen/cuda/CUDAContextLight.h>
#endif

#include <algorithm>
#include <array>

#include "accounting/roofline.h"

namespace assay::model_step {

namespace {

constexpr std::array predicted_passes = {"inference", "forward", "backward", "forward_backward",
                                         "train_step"};

// The name of a kind's variant; "" where the case has none.
std::string variant_of(const CaseContext& context, const char* kind) {
  const auto found = context.parameters.find(kind);
  return found == context.parameters.end() ? "" : to_text(found->second);
}

// Bytes of cuBLAS's workspace, which LibTorch takes from its own allocator.
double workspace_on(const at::Device& device) {
#ifdef ASSAY_WITH_CUDA
  return device.is_cuda() ? static_cast<double>(at::cuda::getChosenWorkspaceSize()) : 0;
#else
  static_cast<void>(device);
  return 0;
#endif
}

}  // namespace

Predictions::Predictions(const CaseContext& context, const model::ModelConfig& config,
                         const accounting::Batch& batch)
    : model_(accounting::counted_model(config)),
      batch_(batch),
      predicts_(boolean_option(context.parameters, "predict") && context.group.size <= 1 &&
                context.precision.parameters == at::kFloat),
      computing_{.mixed = context.precision.autocast.has_value(),
                 .attention = variant_of(context, "attention"),
                 .norm = variant_of(context, "norm"),
                 .on_cpu = context.device.is_cpu(),
                 .workspace = workspace_on(context.device),
                 .checkpoint_every =
                     static_cast<int>(integer_option(context.parameters, "checkpoint_every"))},
      precision_(computing_.mixed         ? "bf16"
                 : context.precision.tf32 ? "tf32"
                                          : "fp32") {
  const auto preset = context.presets.find("accelerator");
  if (preset != context.presets.end()) machine_ = accounting::machine(preset->second);
}

void Predictions::record(const std::string& pass, Recorder& recorder) const {
  if (!predicts_ || std::ranges::count(predicted_passes, pass) == 0) return;
  for (const auto& each : accounting::peak_by_part(model_, batch_, computing_, pass)) {
    recorder.sample("predicted_memory", each.name == "peak" ? "" : each.name, each.value);
  }
  if (pass != "inference") record_saved(recorder);
  const double forwards = accounting::forwards_of(pass);
  for (const auto& each : accounting::flops_by_part(model_, batch_)) {
    if (each.name == "backward" || each.name == "step") continue;
    recorder.sample("predicted_flops", each.name == "forward" ? "" : each.name,
                    forwards * each.value);
  }
  record_time(pass, recorder);
}

void Predictions::record_saved(Recorder& recorder) const {
  const accounting::Quantity copies = accounting::copies_by_autocast(model_, computing_);
  for (const auto& each : accounting::saved_by_part(model_, batch_, computing_)) {
    if (each.name == "saved for backward") {
      recorder.sample("predicted_saved", "", each.value + copies.value);
    } else {
      recorder.sample("predicted_saved", each.name, each.value);
    }
  }
  if (copies.value > 0) recorder.sample("predicted_saved", copies.name, copies.value);
  recorder.word("activation_formula", "", accounting::activation_formula(model_, computing_));
}

void Predictions::record_time(const std::string& pass, Recorder& recorder) const {
  if (!machine_) return;
  for (const auto& each :
       accounting::roofline_time(model_, batch_, computing_, *machine_, precision_, pass)) {
    recorder.sample("predicted_time", each.name == "roofline" ? "" : each.name, each.value);
  }
}

std::vector<MetricInfo> Predictions::metrics() {
  return {
      {"predicted_memory", "byte", Direction::neither,
       "The pass's peak of allocated memory by the accounting's formulas, also by what holds it."},
      {"predicted_saved", "byte", Direction::neither,
       "What the pass keeps for a backward by the accounting's formulas, also by part."},
      {"activation_formula",
       "",
       Direction::neither,
       "predicted_saved in bytes, over B sequences of S tokens.",
       {},
       MetricKind::text},
      {"predicted_flops", "FLOP", Direction::neither,
       "Operations of the pass's matrix products by part, of attention over whole matrices.",
       "scores and values: 2 * batch * seq_len^2 * d_model * layers each, in a forward"},
      {"predicted_time", "s", Direction::neither,
       "The pass's least time by the accelerator's roofline, also by part.",
       "max(flops / peak, bytes / bandwidth) + 28 * parameters / bandwidth of the optimizer"},
  };
}

ParameterInfo Predictions::predict() {
  return left_out_at_default(boolean_parameter(
      "predict", false,
      "Whether each pass also records what the accounting's formulas say of its memory, operations "
      "and, with an accelerator, time."));
}

ParameterInfo Predictions::accelerator() {
  return left_out_at_default(
      config_parameter("accelerator", "", "machines",
                       "Whose roofline predicts the least time (predicted_time); none by default.",
                       accounting::machine_fields()));
}

}  // namespace assay::model_step
