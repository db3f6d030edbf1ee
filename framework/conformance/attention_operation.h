#pragma once

#include <assay/attention.h>

#include <cmath>
#include <string>

#include "conformance/operation.h"

namespace assay::conformance {

// How q, k and v lie in memory; d_head is always contiguous.
enum class AttentionLayout {
  contiguous,
  heads_last,
  packed,
  every_second,
  padded,
  expanded,
  mixed
};
enum class AttentionValues { normal, tiny, large, beyond_fp16, constant, zero, large_key, shifted };

struct AttentionShape {
  std::int64_t batch = 1;
  std::int64_t heads = 2;
  std::int64_t seq_q = 0;
  std::int64_t seq_k = 0;
  std::int64_t d_head = 64;
  bool causal = false;
  at::ScalarType dtype = at::kFloat;
  double scale = 0;  // 0: 1 / sqrt(d_head)
  AttentionLayout layout = AttentionLayout::contiguous;
  AttentionValues values = AttentionValues::normal;
  std::int64_t kv_heads = 0;  // 0: as many as heads
  std::int64_t window = 0;    // 0: none

  std::int64_t used_kv_heads() const { return kv_heads == 0 ? heads : kv_heads; }
  std::int64_t elements() const { return batch * heads * (seq_q + seq_k) * d_head; }
  double used_scale() const {
    return scale > 0 ? scale : 1 / std::sqrt(static_cast<double>(d_head));
  }
};

std::string text(const AttentionShape& shape);

AttentionInputs inputs_of(const AttentionShape& shape, const std::vector<at::Tensor>& qkv);

// Random inputs of this shape, equal on every device. The plugin must outlive the operation.
Operation attention_operation(AttentionBoundary& plugin, const AttentionShape& shape,
                              const at::Device& device);

}  // namespace assay::conformance
