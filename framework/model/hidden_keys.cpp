#include <ATen/ops/arange.h>
#include <assay/attention.h>

namespace assay {

at::Tensor hidden_keys(const AttentionInputs& in) {
  if (!in.causal && in.window <= 0) return {};
  const auto seq_q = in.q.size(2), seq_k = in.k.size(2);
  const auto options = at::TensorOptions().dtype(at::kLong).device(in.q.device());
  const auto places = (at::arange(seq_q, options) + (seq_k - seq_q)).unsqueeze(1);
  const auto keys = at::arange(seq_k, options).unsqueeze(0);
  if (in.window <= 0) return keys > places;
  const auto outside = keys <= places - in.window;
  return in.causal ? outside.logical_or(keys > places)
                   : outside.logical_or(keys >= places + in.window);
}

}  // namespace assay
