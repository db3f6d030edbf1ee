#include "tiled_attention.h"

#include <ATen/ops/matmul.h>
#include <ATen/ops/softmax.h>
#include <torch/csrc/autograd/custom_function.h>

#include <limits>

namespace assay::model_step {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

at::ScalarType at_least_fp32(const at::Tensor& x) {
  return x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

struct TiledAttention : torch::autograd::Function<TiledAttention> {
  // q: [batch, heads, seq_q, d_head], k, v: [batch, heads, seq_k, d_head]
  static at::Tensor forward(AutogradContext* context, const at::Tensor& q, const at::Tensor& k,
                            const at::Tensor& v, const at::Tensor& hidden, double scale) {
    auto scores = at::matmul(q, k.transpose(-2, -1)) * scale;
    if (hidden.defined()) scores.masked_fill_(hidden, -std::numeric_limits<double>::infinity());
    const auto p = at::softmax(scores, -1, at_least_fp32(q)).to(q.scalar_type());
    const auto out = at::matmul(p, v);
    context->save_for_backward({q, k, v, p, out});
    context->saved_data["scale"] = scale;
    return out;
  }

  static variable_list backward(AutogradContext* context, variable_list given) {
    const auto saved = context->get_saved_variables();
    const auto &q = saved[0], &k = saved[1], &v = saved[2], &p = saved[3], &out = saved[4];
    const double scale = context->saved_data["scale"].toDouble();
    const auto dout = given[0].to(q.scalar_type());
    const auto wide = at_least_fp32(q);
    const auto dp = at::matmul(dout, v.transpose(-2, -1)).to(wide);
    const auto row_sums = (dout.to(wide) * out.to(wide)).sum(-1, /*keepdim=*/true);
    const auto ds = (p.to(wide) * (dp - row_sums)).to(q.scalar_type());
    return {at::matmul(ds, k) * scale, at::matmul(ds.transpose(-2, -1), q) * scale,
            at::matmul(p.transpose(-2, -1), dout), at::Tensor(), at::Tensor()};
  }
};

}  // namespace

at::Tensor tiled_attention(const AttentionInputs& in) {
  const auto group = in.q.size(1) / in.k.size(1);
  const auto of_each_head = [&](const at::Tensor& x) {
    return group == 1 ? x : x.repeat_interleave(group, 1);
  };
  return TiledAttention::apply(in.q, of_each_head(in.k), of_each_head(in.v), hidden_keys(in),
                               in.scale);
}

}  // namespace assay::model_step
