#include "batch_reference.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/stack.h>
#include <assay/reference.h>

#include <algorithm>
#include <utility>

#include "training/looks.h"
#include "training/start_copies.h"

namespace assay::model_step {

namespace {

bool has_memory(at::Device device, double bytes) {
  const Status fit = guarded([&] { training::need_memory(device, bytes); });
  if (!fit.ok() && fit.outcome != Outcome::oom) throw PluginFailure(fit);
  return fit.ok();
}

// A GPU with the memory for it is not kept waiting for the host by single sequences.
std::int64_t sequences_at_once(const LookedAtStep& step, const std::string& pass) {
  const std::int64_t batch = step.tokens.size(0);
  const at::Device device = step.context.device;
  if (device.is_cpu()) return 1;
  return has_memory(device, reference_bytes(step.config, batch, step.tokens.size(1), pass)) ? batch
                                                                                            : 1;
}

// Whether a GPU has room for a textbook model beside outputs that are there.
bool has_room_for_model(const LookedAtStep& step, const Parts& parts) {
  const at::Device device = step.context.device;
  return device.is_cpu() || has_memory(device, model_bytes(step.config, parts.at_once(),
                                                           step.tokens.size(1), Parts::pass));
}

std::vector<NamedTensor> made_room(std::vector<NamedTensor> outputs) {
  double bytes = 0;
  for (const NamedTensor& one : outputs) bytes += static_cast<double>(one.tensor.nbytes());
  training::need_host_memory(bytes);
  return training::moved_to_host(std::move(outputs));
}

// Textbook outputs of the first part, on the host where the GPU lacks the memory for a reference
// beside them.
std::vector<NamedTensor> usual_of_first(const LookedAtStep& step, const Parts& parts) {
  std::vector<NamedTensor> usual = usual_outputs(step, parts[0], Parts::pass);
  return has_room_for_model(step, parts) ? usual : made_room(std::move(usual));
}

// Means of the parts' outputs. `of_first`, if any, sees the first part's.
std::vector<NamedTensor> batch_outputs(
    TextbookModel& model, const Parts& parts,
    const std::function<void(const std::vector<NamedTensor>&)>& of_first = {}) {
  std::vector<NamedTensor> outputs;
  at::Tensor loss;
  for (std::int64_t i = 0; i < parts.number(); ++i) {
    outputs.clear();
    outputs = i == 0 ? model.called(parts[i], Parts::pass) : model.added(parts[i], Parts::pass);
    if (i == 0 && of_first) of_first(outputs);
    const at::Tensor& of_part = outputs.front().tensor;
    loss = i == 0 ? of_part.detach().clone() : loss + of_part.detach();
  }
  outputs.front().tensor = loss;
  const auto number = static_cast<double>(parts.number());
  for (NamedTensor& output : outputs) {
    output.tensor = output.tensor.detach();
    output.tensor.div_(number);
  }
  return outputs;
}

// The same where gradients are narrower than fp32, whose sums would round what one backward does
// not.
std::vector<NamedTensor> batch_outputs_in_fp32(TextbookModel& model, const Parts& parts) {
  std::vector<NamedTensor> sums;
  for (std::int64_t i = 0; i < parts.number(); ++i) {
    const std::vector<NamedTensor> outputs = model.called(parts[i], Parts::pass);
    for (std::size_t j = 0; j < outputs.size(); ++j) {
      const at::Tensor output = outputs[j].tensor.detach();
      if (i == 0) sums.push_back({outputs[j].name, at::zeros_like(output, at::kFloat)});
      sums[j].tensor.add_(output);
    }
  }
  for (NamedTensor& sum : sums) sum.tensor.div_(static_cast<double>(parts.number()));
  return sums;
}

}  // namespace

// Read together: each reading waits for the device.
std::vector<double> norms_of(const std::vector<NamedTensor>& outputs) {
  const at::NoGradGuard no_grad;
  if (outputs.empty()) return {};
  std::vector<at::Tensor> norms;
  for (const NamedTensor& output : outputs) {
    norms.push_back(at::linalg_vector_norm(output.tensor.detach()).to(at::kDouble));
  }
  const at::Tensor read = at::stack(norms).cpu();
  const auto* const begin = read.const_data_ptr<double>();
  return {begin, begin + read.numel()};
}

const at::Tensor* tensor_named(const std::vector<NamedTensor>& tensors, const std::string& name) {
  const auto found = std::ranges::find(tensors, name, &NamedTensor::name);
  return found == tensors.end() ? nullptr : &found->tensor;
}

Parts::Parts(const LookedAtStep& step, std::int64_t drawn)
    : batch_(step.tokens.size(0)), at_once_(sequences_at_once(step, pass)), drawn_(drawn) {}

BatchReference whole_batch(const LookedAtStep& step, const Parts& parts) {
  BatchReference made;
  std::vector<NamedTensor> usual;
  if (step.usual.empty()) usual = usual_of_first(step, parts);
  TextbookModel model(step, TextbookModel::Kind::reference, parts.at_once());
  made.outputs = batch_outputs(model, parts, [&](const std::vector<NamedTensor>& first) {
    made.norms = norms_of(first);
    if (!usual.empty()) made.usual = usual_errors(std::exchange(usual, {}), first);
  });
  return made;
}

UsualErrors cancelled(const BatchReference& right) {
  UsualErrors by;
  const std::vector<double> norms = norms_of(right.outputs);
  for (std::size_t i = 0; i < norms.size(); ++i) {
    by[right.outputs[i].name] = norms[i] > 0 ? std::max(1.0, right.norms[i] / norms[i]) : 1;
  }
  return by;
}

std::vector<NamedTensor> usual_outputs(const LookedAtStep& step, const Sequences& of,
                                       const std::string& pass) {
  return TextbookModel(step, TextbookModel::Kind::usual, of.count).called(of, pass);
}

std::vector<NamedTensor> usual_of_batch(const LookedAtStep& step, const Parts& parts,
                                        std::vector<NamedTensor>& right, int draw) {
  const bool moves = !has_room_for_model(step, parts);
  if (moves) right = made_room(std::move(right));
  std::vector<NamedTensor> usual;
  {
    TextbookModel model(step, TextbookModel::Kind::usual, parts.at_once(), draw);
    const bool narrow = c10::elementSize(step.context.precision.parameters) < sizeof(float);
    usual = narrow ? batch_outputs_in_fp32(model, parts) : batch_outputs(model, parts);
  }
  if (!moves) return usual;
  for (NamedTensor& output : right) output.tensor = output.tensor.to(step.context.device);
  return usual;
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

}  // namespace assay::model_step
