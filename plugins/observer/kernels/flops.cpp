#include "flops.h"

#include <algorithm>

#include "classes.h"

namespace assay::kernels {

namespace {

bool of_lists(std::string_view name) {
  return name.starts_with("aten::_foreach_") || name.starts_with("aten::_fused_") ||
         name.starts_with("aten::_amp_");
}

double product(const std::vector<std::int64_t>& sizes) {
  double size = 1;
  for (const std::int64_t each : sizes) size *= static_cast<double>(each);
  return size;
}

// 2 · batch · m · k · n of [batch, m, k] × [batch, k, n], or without a batch.
double of_product(const std::vector<std::vector<std::int64_t>>& shapes, std::size_t first) {
  if (shapes.size() < first + 2 || shapes[first].empty() || shapes[first + 1].empty()) return 0;
  return 2 * product(shapes[first]) * static_cast<double>(shapes[first + 1].back());
}

// An element of the broadcast result.
double of_elements(const std::vector<std::vector<std::int64_t>>& shapes) {
  std::vector<std::int64_t> result;
  for (const auto& shape : shapes) {
    if (shape.size() > result.size())
      result.insert(result.begin(), shape.size() - result.size(), 1);
    for (std::size_t i = 0; i < shape.size(); ++i) {
      auto& size = result[result.size() - shape.size() + i];
      size = std::max(size, shape[i]);
    }
  }
  return shapes.empty() ? 0 : product(result);
}

}  // namespace

double flops_of(std::string_view name, const std::vector<std::vector<std::int64_t>>& shapes) {
  if (shapes.empty()) return 0;
  if (name == "aten::mm" || name == "aten::bmm") return of_product(shapes, 0);
  if (name == "aten::addmm" || name == "aten::baddbmm") return of_product(shapes, 1);
  if (name == "aten::_addmm_activation") return of_product(shapes, 1);
  if (name == "aten::mv") return 2 * product(shapes.front());
  if (name == "aten::dot") return 2 * product(shapes.front());
  if (name == "aten::_softmax" || name == "aten::_log_softmax") return 5 * product(shapes.front());
  if (name.starts_with("aten::_softmax_backward") ||
      name.starts_with("aten::_log_softmax_backward")) {
    return 4 * product(shapes.front());
  }
  // Lists of tensors come without their sizes.
  const auto found = class_of_operator(name);
  return found == "elementwise" && !of_lists(name) ? of_elements(shapes) : 0;
}

}  // namespace assay::kernels
