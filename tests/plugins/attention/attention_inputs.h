#pragma once

#include <ATen/ops/randn.h>
#include <assay/attention.h>

#include <cmath>

#include "model/random.h"

namespace assay::test {

struct AttentionShape {
  std::int64_t batch, heads, seq_q, seq_k, d_head;
};

// heads_last: [batch, seq, heads, d_head] in memory, as in a model.
enum class Layout { contiguous, heads_last };

inline AttentionInputs attention_inputs(const AttentionShape& shape, at::ScalarType dtype,
                                        bool causal, Layout layout,
                                        const at::Device& device = at::kCPU) {
  const auto generator = model::seeded_generator(device, 17);
  const auto random = [&](std::int64_t seq) {
    const bool contiguous = layout == Layout::contiguous;
    const std::int64_t outer = contiguous ? shape.heads : seq,
                       inner = contiguous ? seq : shape.heads;
    const auto drawn = at::randn({shape.batch, outer, inner, shape.d_head}, generator,
                                 at::TensorOptions().device(device).dtype(at::kFloat))
                           .to(dtype);
    return (contiguous ? drawn : drawn.transpose(1, 2)).detach().requires_grad_();
  };
  AttentionInputs in;
  in.q = random(shape.seq_q);
  in.k = random(shape.seq_k);
  in.v = random(shape.seq_k);
  in.causal = causal;
  in.scale = 1 / std::sqrt(static_cast<double>(shape.d_head));
  return in;
}

}  // namespace assay::test
