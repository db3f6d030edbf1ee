#include "adamw.h"

#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include "adamw_kernel.h"
#include "model/adamw.h"

namespace assay::fused {

namespace {

at::Tensor copy_of(const OptimizerInputs& in, std::size_t i) {
  return in.low_precision.empty() ? at::Tensor() : in.low_precision[i];
}

bool is_fp32(const at::Tensor& tensor) { return tensor.scalar_type() == at::kFloat; }

bool is_16_bit(const at::Tensor& tensor) {
  return tensor.scalar_type() == at::kBFloat16 || tensor.scalar_type() == at::kHalf;
}

bool takes(const OptimizerInputs& in, std::size_t i) {
  const at::Tensor& parameter = in.parameters[i];
  const at::Tensor copy = copy_of(in, i);
  const auto fits = [&](const at::Tensor& tensor) {
    return tensor.device() == parameter.device() && tensor.is_contiguous() &&
           tensor.numel() == parameter.numel();
  };
  return parameter.is_cuda() && is_fp32(parameter) && fits(parameter) &&
         is_fp32(in.first_moments[i]) && fits(in.first_moments[i]) &&
         is_fp32(in.second_moments[i]) && fits(in.second_moments[i]) &&
         (is_fp32(in.gradients[i]) || is_16_bit(in.gradients[i])) && fits(in.gradients[i]) &&
         (!copy.defined() || (is_16_bit(copy) && fits(copy)));
}

Stored stored(const at::Tensor& tensor) {
  if (!tensor.defined()) return Stored::nothing;
  if (is_fp32(tensor)) return Stored::fp32;
  return tensor.scalar_type() == at::kBFloat16 ? Stored::bf16 : Stored::fp16;
}

Update update_of(const OptimizerInputs& in, std::size_t i) {
  const at::Tensor copy = copy_of(in, i);
  return {.parameter = in.parameters[i].mutable_data_ptr<float>(),
          .gradient = in.gradients[i].mutable_data_ptr(),
          .gradient_dtype = stored(in.gradients[i]),
          .first_moment = in.first_moments[i].mutable_data_ptr<float>(),
          .second_moment = in.second_moments[i].mutable_data_ptr<float>(),
          .step = in.steps[i].const_data_ptr<float>(),
          .copy = copy.defined() ? copy.mutable_data_ptr() : nullptr,
          .copy_dtype = stored(copy),
          .elements = in.parameters[i].numel()};
}

// `to` begins with all settings and no tensor.
void add(OptimizerInputs& to, const OptimizerInputs& in, std::size_t i) {
  to.parameters.push_back(in.parameters[i]);
  to.gradients.push_back(in.gradients[i]);
  to.first_moments.push_back(in.first_moments[i]);
  to.second_moments.push_back(in.second_moments[i]);
  to.steps.push_back(in.steps[i]);
  if (!in.low_precision.empty()) to.low_precision.push_back(in.low_precision[i]);
}

OptimizerInputs settings_of(const OptimizerInputs& in, const at::Tensor& grad_norm) {
  OptimizerInputs settings;
  settings.learning_rate = in.learning_rate;
  settings.beta1 = in.beta1;
  settings.beta2 = in.beta2;
  settings.eps = in.eps;
  settings.weight_decay = in.weight_decay;
  settings.grad_scale = in.grad_scale;
  settings.found_inf = in.found_inf;
  settings.max_grad_norm = in.max_grad_norm;
  settings.grad_norm = grad_norm;
  return settings;
}

// The norm of all gradients, whoever applies the limit.
at::Tensor norm_under_a_limit(const OptimizerInputs& in) {
  if (in.max_grad_norm <= 0 || in.gradients.empty() || in.grad_norm.defined()) return in.grad_norm;
  return model::norm_of(in.gradients);
}

// Tensors that a kernel reads must outlive the launch.
void launch(const OptimizerInputs& in) {
  if (in.parameters.empty()) return;
  const auto fp32 = [](const at::Tensor& scalar) {
    return scalar.defined() ? scalar.to(at::kFloat) : scalar;
  };
  const auto read = [](const at::Tensor& scalar) {
    return scalar.defined() ? scalar.const_data_ptr<float>() : nullptr;
  };
  const at::Tensor factor = fp32(model::limiting_factor(in));
  const at::Tensor grad_scale = fp32(in.grad_scale);
  const at::Tensor found_inf = fp32(in.found_inf);
  model::count_step(in.steps, in.found_inf);
  std::vector<Update> updates;
  for (std::size_t i = 0; i < in.parameters.size(); ++i) updates.push_back(update_of(in, i));
  const at::Tensor workspace =
      at::empty({static_cast<std::int64_t>(updates.size()) * adamw_workspace},
                in.parameters.front().options());
  launch_adamw(updates,
               {.learning_rate = in.learning_rate,
                .beta1 = in.beta1,
                .beta2 = in.beta2,
                .eps = in.eps,
                .weight_decay = in.weight_decay,
                .factor = read(factor),
                .grad_scale = read(grad_scale),
                .found_inf = read(found_inf)},
               workspace.mutable_data_ptr<float>(), c10::cuda::getCurrentCUDAStream());
}

}  // namespace

void adamw(const OptimizerInputs& in, const std::function<void(const OptimizerInputs&)>& others) {
  if (in.parameters.empty()) return;
  const c10::cuda::OptionalCUDAGuard device(in.parameters.front().is_cuda()
                                                ? std::optional(in.parameters.front().device())
                                                : std::nullopt);
  OptimizerInputs mine = settings_of(in, norm_under_a_limit(in));
  OptimizerInputs rest = mine;
  for (std::size_t i = 0; i < in.parameters.size(); ++i) add(takes(in, i) ? mine : rest, in, i);
  launch(mine);
  if (!rest.parameters.empty()) others(rest);
}

}  // namespace assay::fused
