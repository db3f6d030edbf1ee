#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/stack.h>
#include <assay/reference.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "model/differentiable.h"

namespace assay::reference {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::int64_t widened_at_once = std::int64_t{1} << 22;

}  // namespace

Deviation deviation(const at::Tensor& value, const at::Tensor& reference, double floor) {
  if (reference.numel() == 0) return {};
  const at::NoGradGuard no_grad;
  const std::int64_t columns = reference.dim() == 0 ? 1 : reference.size(-1);
  const auto given = value.detach().reshape({-1, columns});
  const auto right = reference.detach().reshape({-1, columns});
  std::vector<at::Tensor> apart, scales;  // of the rows, in pieces
  const auto rows = right.size(0);
  const auto step = std::max<std::int64_t>(1, widened_at_once / columns);
  for (std::int64_t begin = 0; begin < rows; begin += step) {
    const auto count = std::min(step, rows - begin);
    const auto expected = right.narrow(0, begin, count).to(at::kDouble);
    scales.push_back(at::linalg_vector_norm(expected, 2, at::IntArrayRef{1}));
    const auto difference = given.narrow(0, begin, count).to(at::kDouble) - expected;
    apart.push_back(at::linalg_vector_norm(difference, 2, at::IntArrayRef{1}));
  }
  const auto distances = at::cat(apart);
  const auto norms = at::cat(scales);
  const double root = std::sqrt(static_cast<double>(rows));
  const double least = floor * std::sqrt(static_cast<double>(columns));  // of a row
  const auto typical = (norms.norm() / root).clamp_min(least);
  const auto ratios = distances / norms.clamp_min(typical);
  const auto where = ratios.argmax();
  // Read together: each reading waits for the device.
  const auto read =
      at::stack({distances.norm(), typical, ratios[where], where.to(at::kDouble)}).cpu();
  const auto* const told = read.const_data_ptr<double>();
  const double distance = told[0], scale = told[1];
  if (!std::isfinite(distance)) return {infinity, infinity, 0};
  if (scale <= 0) return {distance, 0, 0};
  return {distance / (scale * root), told[2], static_cast<std::int64_t>(told[3])};
}

double relative_error(const at::Tensor& value, const at::Tensor& reference) {
  return deviation(value, reference).whole;
}

double tolerance(const PrecisionPolicy& precision) {
  return tolerance(precision.compute(), precision.tf32);
}

double tolerance(at::ScalarType dtype, bool tf32) {
  switch (dtype) {
    case at::kDouble:
      return 1e-10;
    case at::kFloat:
      return tf32 ? 5e-3 : 1e-4;
    case at::kHalf:
      return 5e-3;
    default:
      return 2e-2;
  }
}

namespace {

// Why the values cannot be compared; "" if they can.
std::string incomparable(const at::Tensor& value, const at::Tensor& reference) {
  if (!value.defined()) return "is undefined";
  if (value.device() != reference.device()) {
    return fmt::format("is on the device {}, not {}", value.device().str(),
                       reference.device().str());
  }
  if (value.sizes() != reference.sizes()) {
    return fmt::format("has the shape {}, not {}", model::shape_text(value.sizes()),
                       model::shape_text(reference.sizes()));
  }
  return {};
}

// "row [0, 2, 17] of out".
std::string row_text(const std::string& name, std::int64_t row, const at::Tensor& tensor) {
  std::vector<std::int64_t> index(static_cast<std::size_t>(tensor.dim() - 1));
  for (auto place = index.rbegin(); place != index.rend(); ++place) {
    const auto size = tensor.size(std::distance(place, index.rend()) - 1);
    *place = row % size;
    row /= size;
  }
  return fmt::format("row {} of {}", model::shape_text(index), name);
}

// Keeps the comparison nearest to, or farthest beyond, its own tolerance.
void keep_worst(Verification& verification, Verification found) {
  const bool first = !verification.checked;
  found.checked = true;
  if (first || found.error * verification.tolerance > verification.error * found.tolerance) {
    verification = std::move(found);
  }
}

}  // namespace

std::string not_finite(const at::Tensor& value) {
  if (value.isnan().any().item<bool>()) return "holds NaN";
  return value.isinf().any().item<bool>() ? "holds infinity" : "";
}

void compare(Verification& verification, const std::string& name, const at::Tensor& value,
             const at::Tensor& reference, double tolerance, double floor) {
  compare_beside(verification, name, value, reference, {}, tolerance, floor);
}

void compare_beside(Verification& verification, const std::string& name, const at::Tensor& value,
                    const at::Tensor& reference, const at::Tensor& textbook, double tolerance,
                    double floor) {
  Deviation usual;
  if (textbook.defined()) {
    usual = deviation(textbook, reference, floor);
    tolerance =
        std::min(tolerance, textbook_allowance * usual.larger() + textbook_floor * tolerance);
  }
  std::string remark = incomparable(value, reference);
  const Deviation found =
      remark.empty() ? deviation(value, reference, floor) : Deviation{infinity, infinity, 0};
  if (remark.empty() && found.whole == infinity) remark = not_finite(value);
  std::string what = remark.empty() ? name : fmt::format("{}, which {},", name, remark);
  double error = found.whole;
  if (error <= tolerance && reference.dim() > 1 && found.row > row_allowance * tolerance) {
    what = row_text(name, found.where, reference);
    error = found.row;
    tolerance *= row_allowance;
  }
  keep_worst(verification, {.error = error,
                            .tolerance = tolerance,
                            .worst = std::move(what),
                            .textbook = textbook.defined() ? usual.whole : 0});
}

void compare_all(Verification& verification, const std::vector<NamedTensor>& values,
                 const std::vector<NamedTensor>& references, double tolerance, double allowance) {
  for (const auto& [name, reference] : references) {
    const auto found = std::find_if(values.begin(), values.end(),
                                    [&](const NamedTensor& value) { return value.name == name; });
    const bool gradient = name.starts_with("grad.");
    compare(verification, name, found == values.end() ? at::Tensor() : found->tensor, reference,
            gradient ? allowance * tolerance : tolerance);
  }
}

const at::Tensor& require_output(const std::vector<NamedTensor>& values, const std::string& name,
                                 at::ScalarType dtype) {
  const auto found = std::ranges::find(values, name, &NamedTensor::name);
  if (found == values.end() || !found->tensor.defined()) {
    throw PluginFailure({Outcome::wrong, fmt::format("the call left no {}", name)});
  }
  if (found->tensor.scalar_type() != dtype) {
    throw PluginFailure({Outcome::wrong, fmt::format("{} has the dtype {}, not {}", name,
                                                     c10::toString(found->tensor.scalar_type()),
                                                     c10::toString(dtype))});
  }
  return found->tensor;
}

}  // namespace assay::reference
