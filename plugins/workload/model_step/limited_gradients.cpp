#include "limited_gradients.h"

#include <ATen/ops/dot.h>
#include <ATen/ops/stack.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "batch_reference.h"

namespace assay::model_step {

namespace {

bool is_gradient(const NamedTensor& output) { return output.name.starts_with("grad."); }

std::vector<NamedTensor> gradients_of(const std::vector<NamedTensor>& outputs) {
  std::vector<NamedTensor> gradients;
  for (const NamedTensor& output : outputs) {
    if (is_gradient(output) && output.tensor.defined()) gradients.push_back(output);
  }
  return gradients;
}

// Of the same shape and on the same device, or undefined.
at::Tensor comparable(const std::vector<NamedTensor>& values, const NamedTensor& right) {
  const at::Tensor* value = tensor_named(values, right.name);
  const bool is_like = value != nullptr && value->defined() &&
                       value->sizes() == right.tensor.sizes() &&
                       value->device() == right.tensor.device();
  return is_like ? *value : at::Tensor();
}

// The mean over gradients by which they are longer, weighted by how well each is known; 1 if none
// is a number.
double common_factor(const std::vector<NamedTensor>& values, const std::vector<NamedTensor>& right,
                     const std::vector<double>& norms, const AllowedErrors& allowed) {
  std::vector<at::Tensor> products;
  std::vector<std::pair<double, double>> squares_and_weights;
  for (std::size_t i = 0; i < right.size(); ++i) {
    const auto& [name, gradient] = right[i];
    const at::Tensor value = comparable(values, right[i]);
    if (!value.defined()) continue;
    products.push_back(at::dot(value.flatten().to(gradient.scalar_type()), gradient.flatten()));
    squares_and_weights.emplace_back(norms[i] * norms[i],
                                     1 / (allowed.at(name) * allowed.at(name)));
  }
  if (products.empty()) return 1;
  // Read together: each reading waits for the device.
  const at::Tensor read = at::stack(products).to(at::kDouble).cpu();
  const auto* product = read.const_data_ptr<double>();
  double sum = 0, weights = 0;
  for (const auto& [square, weight] : squares_and_weights) {
    const double longer = *product++ / square;
    if (!std::isfinite(longer)) continue;
    sum += longer * weight;
    weights += weight;
  }
  return weights > 0 ? sum / weights : 1;
}

double length_of(const std::vector<double>& norms) {
  double squares = 0;
  for (const double norm : norms) squares += norm * norm;
  return std::sqrt(squares);
}

}  // namespace

double GradientLimit::factor_of(double norm_of_all) const {
  return std::min(1.0, most / norm_of_all);
}

double norm_of_gradients(const std::vector<NamedTensor>& outputs) {
  return length_of(norms_of(gradients_of(outputs)));
}

void scale_gradients(std::vector<NamedTensor>& outputs, double factor) {
  if (factor == 1) return;
  for (NamedTensor& output : outputs) {
    if (is_gradient(output)) output.tensor *= factor;
  }
}

double factor_of_own_norm(const GradientLimit& limit, const std::vector<NamedTensor>& values,
                          const std::vector<NamedTensor>& right, const AllowedErrors& allowed,
                          double tolerance) {
  const std::vector<NamedTensor> gradients = gradients_of(right);
  const std::vector<double> norms = norms_of(gradients);
  std::vector<double> errors;
  for (std::size_t i = 0; i < norms.size(); ++i) {
    errors.push_back(allowed.at(gradients[i].name) * norms[i]);
  }
  const double change = length_of(errors) / length_of(norms);
  if (!std::isfinite(change) || !std::isfinite(limit.of_values)) return 1;
  const double shortest = limit.factor_of(limit.norm * (1 + change)) / limit.factor();
  const double longest = limit.factor_of(limit.norm * std::max(0.0, 1 - change)) / limit.factor();
  const bool is_limited = limit.of_values >= limit.most * (1 - tolerance);
  const double factor =
      is_limited ? common_factor(values, gradients, norms, allowed) : 1 / limit.factor();
  return std::clamp(factor, shortest, longest);
}

}  // namespace assay::model_step
