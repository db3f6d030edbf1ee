#include "limited_gradients.h"

#include <ATen/ops/sum.h>

#include <algorithm>
#include <cmath>

#include "batch_reference.h"

namespace assay::model_step {

namespace {

bool is_gradient(const NamedTensor& output) { return output.name.starts_with("grad."); }

double sum_of_products(const at::Tensor& a, const at::Tensor& b) {
  return at::sum(a * b).item<double>();
}

// The mean over gradients by which they are longer, weighted by how well each is known; 1 if none
// is a number.
double common_factor(const std::vector<NamedTensor>& values, const std::vector<NamedTensor>& right,
                     const std::map<std::string, double>& allowed) {
  double sum = 0, weights = 0;
  for (const NamedTensor& output : right) {
    if (!is_gradient(output)) continue;
    const at::Tensor* value = tensor_named(values, output.name);
    if (value == nullptr || !value->defined()) continue;
    if (value->sizes() != output.tensor.sizes() || value->device() != output.tensor.device()) {
      continue;
    }
    const double longer =
        sum_of_products(*value, output.tensor) / sum_of_products(output.tensor, output.tensor);
    if (!std::isfinite(longer)) continue;
    const double weight = 1 / (allowed.at(output.name) * allowed.at(output.name));
    sum += longer * weight;
    weights += weight;
  }
  return weights > 0 ? sum / weights : 1;
}

// By how much the norm changes, relative to it, where each gradient is off by what it may.
double largest_change_of_norm(const std::vector<NamedTensor>& right,
                              const std::map<std::string, double>& allowed) {
  double squares = 0, off = 0;
  for (const NamedTensor& output : right) {
    if (!is_gradient(output)) continue;
    const double square = sum_of_products(output.tensor, output.tensor);
    squares += square;
    off += square * allowed.at(output.name) * allowed.at(output.name);
  }
  return std::sqrt(off / squares);
}

}  // namespace

double GradientLimit::factor_of(double norm_of_all) const {
  return std::min(1.0, most / norm_of_all);
}

double norm_of_gradients(const std::vector<NamedTensor>& outputs) {
  double squares = 0;
  for (const NamedTensor& output : outputs) {
    if (!is_gradient(output)) continue;
    const double norm = output.tensor.norm().item<double>();
    squares += norm * norm;
  }
  return std::sqrt(squares);
}

void scale_gradients(std::vector<NamedTensor>& outputs, double factor) {
  if (factor == 1) return;
  for (NamedTensor& output : outputs) {
    if (is_gradient(output)) output.tensor *= factor;
  }
}

double factor_of_own_norm(const GradientLimit& limit, const std::vector<NamedTensor>& values,
                          const std::vector<NamedTensor>& right,
                          const std::map<std::string, double>& allowed) {
  const double change = largest_change_of_norm(right, allowed);
  if (!std::isfinite(change)) return 1;
  const double shortest = limit.factor_of(limit.norm * (1 + change)) / limit.factor();
  const double longest = limit.factor_of(limit.norm * std::max(0.0, 1 - change)) / limit.factor();
  return std::clamp(common_factor(values, right, allowed), shortest, longest);
}

}  // namespace assay::model_step
