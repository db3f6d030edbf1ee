#pragma once

#include <ATen/ops/_safe_softmax.h>
#include <ATen/ops/logsumexp.h>
#include <ATen/ops/matmul.h>
#include <assay/reference.h>
#include <torch/csrc/autograd/autograd.h>

#include <array>
#include <limits>

namespace assay {

// out, lse and the gradients of q, k and v.
using AttentionResults = std::array<at::Tensor, 5>;
inline constexpr std::array<const char*, 5> result_names = {"out", "lse", "dq", "dk", "dv"};

// [batch, heads, queries, keys], −∞ where a key is hidden.
inline at::Tensor textbook_scores(const AttentionInputs& in, const at::Tensor& q,
                                  const at::Tensor& k) {
  const auto group = q.size(1) / k.size(1);
  const auto scores = at::matmul(q * in.scale, k.repeat_interleave(group, 1).transpose(-2, -1));
  const auto hidden = hidden_keys(in);
  return hidden.defined() ? scores.masked_fill(hidden, -std::numeric_limits<double>::infinity())
                          : scores;
}

// Of textbook attention in `dtype`, by LibTorch.
inline AttentionResults textbook_results(const AttentionInputs& in, const at::Tensor& dout,
                                         at::ScalarType dtype) {
  const auto leaf = [&](const at::Tensor& x) { return x.detach().to(dtype).requires_grad_(); };
  const auto q = leaf(in.q), k = leaf(in.k), v = leaf(in.v);
  const auto group = q.size(1) / k.size(1);
  const auto scores = textbook_scores(in, q, k);
  const auto out = at::matmul(at::_safe_softmax(scores, -1), v.repeat_interleave(group, 1));
  const auto made = torch::autograd::grad({out}, {q, k, v}, {dout.to(dtype)});
  // Of scores in float or wider, as every kernel has it.
  const auto lse = at::logsumexp(scores.to(at::promote_types(dtype, at::kFloat)), -1);
  return {out.detach(), lse.detach(), made[0], made[1], made[2]};
}

// Where a row sees no key, both have −∞.
inline double largest_error(const at::Tensor& a, const at::Tensor& b) {
  const auto wide = a.to(at::kDouble), other = b.to(at::kDouble);
  return (wide - other).masked_fill(wide == other, 0).abs().max().item<double>();
}

}  // namespace assay
