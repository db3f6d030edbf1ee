#include <assay/ops.h>

namespace assay {

at::Tensor joined(const std::vector<at::Tensor>& weights) {
  if (weights.empty() || !weights.front().defined() || weights.front().dim() != 2) return {};
  const at::Tensor& first = weights.front();
  const auto columns = first.size(1);
  std::int64_t rows = 0;
  for (const at::Tensor& weight : weights) {
    const bool next = weight.defined() && weight.dim() == 2 && weight.is_contiguous() &&
                      weight.size(1) == columns && weight.scalar_type() == first.scalar_type() &&
                      weight.is_alias_of(first) &&
                      weight.storage_offset() == first.storage_offset() + rows * columns;
    if (!next) return {};
    rows += weight.size(0);
  }
  return first.detach().as_strided({rows, columns}, {columns, 1}, first.storage_offset());
}

}  // namespace assay
