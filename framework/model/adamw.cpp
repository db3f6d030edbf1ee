#include "model/adamw.h"

#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_copy.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/reciprocal.h>
#include <ATen/ops/rsub.h>
#include <ATen/ops/stack.h>

#include <algorithm>
#include <optional>

namespace assay::model {

namespace {

constexpr std::int64_t most_converted_bytes = std::int64_t{256} << 20;

std::optional<at::Tensor> optional(const at::Tensor& tensor) {
  return tensor.defined() ? std::optional<at::Tensor>(tensor) : std::nullopt;
}

// Updates as many parameters, from `first` on, as there are gradients.
void update(const OptimizerInputs& in, std::size_t first, at::TensorList gradients) {
  const auto part = [&](const std::vector<at::Tensor>& all) {
    return at::TensorList(all).slice(first, gradients.size());
  };
  at::_fused_adamw_(part(in.parameters), gradients, part(in.first_moments), part(in.second_moments),
                    /*max_exp_avg_sqs=*/{}, part(in.steps), in.learning_rate, in.beta1, in.beta2,
                    in.weight_decay, in.eps,
                    /*amsgrad=*/false, /*maximize=*/false, optional(in.grad_scale),
                    optional(in.found_inf));
}

bool is_converted(const OptimizerInputs& in, std::size_t i) {
  return in.gradients[i].scalar_type() != in.parameters[i].scalar_type();
}

std::int64_t converted_bytes(const OptimizerInputs& in, std::size_t i) {
  return is_converted(in, i) ? static_cast<std::int64_t>(in.parameters[i].nbytes()) : 0;
}

// Behind the last parameter whose gradient is converted together with that of `first`.
std::size_t end_of_part(const OptimizerInputs& in, std::size_t first, std::int64_t most_bytes) {
  std::int64_t bytes = converted_bytes(in, first);
  std::size_t end = first + 1;
  while (end < in.gradients.size() && bytes + converted_bytes(in, end) <= most_bytes) {
    bytes += converted_bytes(in, end++);
  }
  return end;
}

void convert_and_update(const OptimizerInputs& in, std::size_t first, std::size_t end,
                        const at::Tensor& factor) {
  std::vector<at::Tensor> gradients;
  for (std::size_t i = first; i < end; ++i) {
    gradients.push_back(in.gradients[i].to(in.parameters[i].scalar_type()));
  }
  if (factor.defined()) {
    at::_foreach_mul_(gradients, factor);
    for (std::size_t i = first; i < end; ++i) {
      if (is_converted(in, i)) in.gradients[i].copy_(gradients[i - first]);
    }
  }
  update(in, first, gradients);
}

void convert_and_update_all(const OptimizerInputs& in, const at::Tensor& factor) {
  std::int64_t all_bytes = 0;
  for (std::size_t i = 0; i < in.gradients.size(); ++i) all_bytes += converted_bytes(in, i);
  // Of little as well, so that it is not all there twice.
  const std::int64_t most_bytes = std::min(most_converted_bytes, all_bytes / 2);
  for (std::size_t first = 0; first < in.gradients.size();) {
    const std::size_t end = end_of_part(in, first, most_bytes);
    convert_and_update(in, first, end, factor);
    first = end;
  }
}

void refresh(const std::vector<at::Tensor>& copies, const std::vector<at::Tensor>& parameters) {
  std::vector<at::Tensor> to, from;
  for (std::size_t i = 0; i < copies.size(); ++i) {
    if (!copies[i].defined()) continue;
    to.push_back(copies[i]);
    from.push_back(parameters[i]);
  }
  if (!to.empty()) at::_foreach_copy_(to, from);
}

}  // namespace

at::Tensor norm_of(const std::vector<at::Tensor>& gradients) {
  const bool is_double = std::ranges::any_of(
      gradients, [](const at::Tensor& each) { return each.scalar_type() == at::kDouble; });
  return at::linalg_vector_norm(
      at::stack(at::_foreach_norm(gradients, 2, is_double ? at::kDouble : at::kFloat)));
}

at::Tensor limiting_factor(const OptimizerInputs& in) {
  if (in.max_grad_norm <= 0 || in.gradients.empty()) return {};
  at::Tensor norm = in.grad_norm.defined() ? in.grad_norm : norm_of(in.gradients);
  if (in.grad_scale.defined()) norm = norm / in.grad_scale.squeeze();
  return at::reciprocal(norm).mul_(in.max_grad_norm).clamp_max_(1);
}

void count_step(const std::vector<at::Tensor>& steps, const at::Tensor& found_inf) {
  if (found_inf.defined()) {
    at::_foreach_add_(steps, at::rsub(found_inf, 1).squeeze());
  } else {
    at::_foreach_add_(steps, 1);
  }
}

void adamw(const OptimizerInputs& in) {
  const at::Tensor factor = limiting_factor(in);
  count_step(in.steps, in.found_inf);
  bool converts = false;
  for (std::size_t i = 0; i < in.gradients.size(); ++i) converts = converts || is_converted(in, i);
  if (converts) {
    convert_and_update_all(in, factor);
  } else {
    if (factor.defined()) at::_foreach_mul_(in.gradients, factor);
    update(in, 0, in.gradients);
  }
  refresh(in.low_precision, in.parameters);
}

}  // namespace assay::model
