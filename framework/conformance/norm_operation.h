#pragma once

#include <assay/norm.h>

#include <string>
#include <vector>

#include "conformance/operation.h"

namespace assay::conformance {

enum class NormLayout { contiguous, transposed, every_second, columns_apart, expanded, shifted };
enum class NormValues { normal, tiny, large, constant, zero, offset, one_large };

struct NormShape {
  std::vector<std::int64_t> sizes;  // the last: n_cols
  at::ScalarType dtype = at::kFloat;
  bool wide_weight = false;    // weight and bias in fp32 beside x in fp16 or bf16
  bool wide_residual = false;  // the same of a residual
  double eps = 1e-5;
  NormLayout layout = NormLayout::contiguous;
  NormValues values = NormValues::normal;

  std::int64_t columns() const { return sizes.back(); }
  std::int64_t elements() const { return c10::multiply_integers(sizes); }
};

// Which results of the second entry a case looks at: `both` adds them up.
enum class NormEntry { out, sum, both };

std::string text(const NormShape& shape);
const char* text(NormEntry entry);

// Random inputs of this shape, equal on every device. The plugin must outlive the operations.
Operation norm_operation(NormBoundary& norm, const NormShape& shape, const at::Device& device);
// Of the second entry: inputs "residual", "x" and, unless only the sum is shown, the vectors.
Operation add_norm_operation(NormBoundary& norm, const NormShape& shape, NormEntry entry,
                             const at::Device& device);

}  // namespace assay::conformance
