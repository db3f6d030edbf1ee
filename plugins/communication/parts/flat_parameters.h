#pragma once

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_copy.h>
#include <assay/communication.h>
#include <assay/flat_buffer.h>

#include <vector>

namespace assay::communication {

inline std::vector<std::vector<std::int64_t>> sizes_of(const std::vector<at::Tensor>& tensors) {
  std::vector<std::vector<std::int64_t>> sizes;
  for (const at::Tensor& tensor : tensors) sizes.push_back(tensor.sizes().vec());
  return sizes;
}

// "fp32" or "bf16": how gradients travel.
inline ParameterInfo gradients_option() {
  return choice_parameter("gradients", "fp32", {"fp32", "bf16"},
                          "Dtype in which gradients are summed over the ranks.");
}

// The dtype in which gradients of a parameter travel. What is wider than fp32 stays so.
inline at::ScalarType gradient_dtype(const std::string& option, at::ScalarType parameter) {
  if (parameter == at::kDouble) return at::kDouble;
  return option == "bf16" ? at::kBFloat16 : at::kFloat;
}

inline std::vector<at::Tensor> parts_of(const FlatBuffer& buffer) {
  std::vector<at::Tensor> parts;
  for (std::size_t i = 0; i < buffer.part_count(); ++i) parts.push_back(buffer.part(i));
  return parts;
}

// Writes the parameters' gradients, in whatever dtype autograd made them, to a buffer's parts with
// one launch, 0 where there is none, and drops them. Those that lie there already stay.
inline void move_gradients(const std::vector<at::Tensor>& parameters,
                           const std::vector<at::Tensor>& parts) {
  std::vector<at::Tensor> to, from;
  for (std::size_t k = 0; k < parameters.size(); ++k) {
    at::Tensor& gradient = parameters[k].mutable_grad();
    const at::Tensor& part = parts[k];
    if (!gradient.defined()) {
      part.zero_();
    } else if (gradient.const_data_ptr() != part.const_data_ptr()) {
      to.push_back(part);
      from.push_back(std::move(gradient));
    }
    gradient = at::Tensor();
  }
  if (!to.empty()) at::_foreach_copy_(to, from);
}

// The same parameter on every rank, each of which updates it if it is trained.
inline Slice replicated_slice(const ModelParameter& parameter, std::size_t index) {
  return {.values = parameter.tensor,
          .pieces = {{index, 0, parameter.tensor.numel(), 0}},
          .buffer = parameter.name,
          .replicated = true,
          .frozen = !parameter.tensor.requires_grad()};
}

}  // namespace assay::communication
