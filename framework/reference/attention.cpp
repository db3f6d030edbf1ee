#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/logsumexp.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/zeros.h>
#include <assay/reference.h>

#include <limits>

#include "model/random.h"

namespace assay::reference {

namespace {

constexpr double unseen = -std::numeric_limits<double>::infinity();

struct Head {
  at::Tensor q, k, v, dout;  // [rows, d_head] or [seq_k, d_head], float64
};

struct HeadResult {
  at::Tensor out, lse, dq, dk, dv;
};

// hidden: [rows, seq_k] or undefined.
HeadResult attend_head(const Head& head, double scale, const at::Tensor& hidden) {
  auto scores = at::matmul(head.q, head.k.t()).mul_(scale);
  if (hidden.defined()) scores.masked_fill_(hidden, unseen);
  HeadResult made;
  made.lse = at::logsumexp(scores, -1);
  const auto probabilities = at::exp(scores - made.lse.unsqueeze(-1)).nan_to_num_(0.0);
  made.out = at::matmul(probabilities, head.v);
  if (!head.dout.defined()) return made;

  // dP = dO Vᵀ; dS = P ∘ (dP − rowsum(dO ∘ O)); dQ = scale dS K; dK = scale dSᵀ Q; dV = Pᵀ dO.
  const auto dprobabilities = at::matmul(head.dout, head.v.t());
  const auto row_sums = (head.dout * made.out).sum(-1, /*keepdim=*/true);
  const auto dscores = probabilities * (dprobabilities - row_sums);
  made.dq = at::matmul(dscores, head.k).mul_(scale);
  made.dk = at::matmul(dscores.t(), head.q).mul_(scale);
  made.dv = at::matmul(probabilities.t(), head.dout);
  return made;
}

}  // namespace

at::Tensor rows_to_check(std::int64_t seq_q, std::uint64_t seed) {
  const auto options = at::TensorOptions().dtype(at::kLong);
  if (seq_q <= whole_rows) return at::arange(seq_q, options);
  const auto step = seq_q / sampled_rows;
  auto rows =
      at::arange(sampled_rows, options) * step +
      at::randint(0, step, {sampled_rows}, model::seeded_generator(at::kCPU, seed), options);
  rows[0] = 0;
  rows[sampled_rows - 1] = seq_q - 1;
  return rows;
}

AttentionResult attention(const AttentionInputs& in, const at::Tensor& dout,
                          const at::Tensor& rows) {
  const at::NoGradGuard no_grad;
  const auto batch = in.q.size(0), heads = in.q.size(1), d_head = in.q.size(3);
  const auto kv_heads = in.k.size(1), seq_k = in.k.size(2);
  const auto device_rows =
      rows.defined() ? rows.to(in.q.device())
                     : at::arange(in.q.size(2), at::TensorOptions(at::kLong).device(in.q.device()));
  const auto options = in.q.options().dtype(at::kDouble).requires_grad(false);

  AttentionResult result;
  result.out = at::empty({batch, heads, device_rows.size(0), d_head}, options);
  result.lse = at::empty({batch, heads, device_rows.size(0)}, options);
  if (dout.defined()) {
    result.dq = at::empty_like(result.out);
    result.dk = at::zeros({batch, kv_heads, seq_k, d_head}, options);
    result.dv = at::zeros({batch, kv_heads, seq_k, d_head}, options);
  }
  auto hidden = hidden_keys(in);
  if (hidden.defined()) hidden = hidden.index_select(0, device_rows);
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t h = 0; h < heads; ++h) {
      const auto of = h / (heads / kv_heads);
      const Head head{in.q[b][h].index_select(0, device_rows).to(at::kDouble),
                      in.k[b][of].to(at::kDouble), in.v[b][of].to(at::kDouble),
                      dout.defined() ? dout[b][h].to(at::kDouble) : at::Tensor()};
      const HeadResult made = attend_head(head, in.scale, hidden);
      result.out[b][h].copy_(made.out);
      result.lse[b][h].copy_(made.lse);
      if (!dout.defined()) continue;
      result.dq[b][h].copy_(made.dq);
      result.dk[b][of] += made.dk;
      result.dv[b][of] += made.dv;
    }
  }
  return result;
}

at::Tensor differentiable_attention(const AttentionInputs& in) {
  const auto group = in.q.size(1) / in.k.size(1);
  const auto of_each_head = [&](const at::Tensor& x) {
    return group == 1 ? x : x.repeat_interleave(group, 1);
  };
  auto scores = at::matmul(in.q, of_each_head(in.k).transpose(-2, -1)) * in.scale;
  const auto hidden = hidden_keys(in);
  if (hidden.defined()) scores = scores.masked_fill(hidden, unseen);
  return at::matmul(at::softmax(scores, -1), of_each_head(in.v));
}

}  // namespace assay::reference
