// Textbook backwards in plain operations, for variants that have a forward kernel alone.

#include <ATen/ops/matmul.h>
#include <ATen/ops/rsqrt.h>
#include <assay/attention.h>
#include <assay/norm.h>
#include <torch/csrc/autograd/custom_function.h>

namespace assay {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

at::ScalarType wide(const at::Tensor& x) {
  return x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

// A variant's forward with the textbook's backward.
struct NormFunction : torch::autograd::Function<NormFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            const std::optional<at::Tensor>& bias, double eps, bool centred,
                            const std::function<at::Tensor(const NormInputs&)>& call) {
    context->save_for_backward({x, weight});
    context->saved_data["eps"] = eps;
    context->saved_data["centred"] = centred;
    context->saved_data["biased"] = bias.has_value();
    return call({x, weight, bias.value_or(at::Tensor()), eps});
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    NormInputs in = {saved[0], saved[1], {}, context->saved_data["eps"].toDouble()};
    if (context->saved_data["biased"].toBool()) in.bias = saved[1];  // only its dtype matters
    const auto made = textbook_backward(in, context->saved_data["centred"].toBool(), gradients[0]);
    const at::Tensor none;
    return {made.dx, made.dweight, made.dbias, none, none, none};
  }
};

}  // namespace

AttentionGradients textbook_backward(const AttentionInputs& in, const at::Tensor& out,
                                     const at::Tensor& lse, const at::Tensor& dout) {
  const auto dtype = wide(in.q);
  const auto kv_heads = in.k.size(1), group = in.q.size(1) / kv_heads;
  const auto of_each_head = [&](const at::Tensor& x) {
    return group == 1 ? x.to(dtype) : x.to(dtype).repeat_interleave(group, 1);
  };
  const auto over_group = [&](const at::Tensor& x) {
    return group == 1 ? x : x.unflatten(1, {kv_heads, group}).sum(2);
  };
  const auto q = in.q.to(dtype), d = dout.to(dtype);
  const auto k = of_each_head(in.k), v = of_each_head(in.v);
  auto p = (at::matmul(q, k.transpose(-2, -1)) * in.scale - lse.to(dtype).unsqueeze(-1)).exp();
  if (const auto hidden = hidden_keys(in); hidden.defined()) p = p.masked_fill(hidden, 0);
  const auto dp = at::matmul(d, v.transpose(-2, -1));
  const auto ds = p * (dp - (d * out.to(dtype)).sum(-1, /*keepdim=*/true)) * in.scale;
  const auto narrow = [&](const at::Tensor& x) { return x.to(in.q.scalar_type()); };
  return {narrow(at::matmul(ds, k)), narrow(over_group(at::matmul(ds.transpose(-2, -1), q))),
          narrow(over_group(at::matmul(p.transpose(-2, -1), d)))};
}

// With y the normalised x and dy = dout · weight: dx = (dy − y · mean(dy · y)) · scale; a centred
// norm also subtracts the mean of dy. Ba 2016; Zhang and Sennrich 2019.
NormGradients textbook_backward(const NormInputs& in, bool centred, const at::Tensor& dout) {
  const auto n_cols = in.x.size(-1);
  const auto dtype = wide(in.x);
  auto y = in.x.reshape({-1, n_cols}).to(dtype);
  if (centred) y = y - y.mean(-1, /*keepdim=*/true);
  const auto scale = at::rsqrt(y.square().mean(-1, /*keepdim=*/true) + in.eps);
  y = y * scale;
  const auto d = dout.reshape({-1, n_cols}).to(dtype);
  const auto dy = d * in.weight.to(dtype);
  auto dx = dy - y * (dy * y).mean(-1, /*keepdim=*/true);
  if (centred) dx = dx - dy.mean(-1, /*keepdim=*/true);
  NormGradients made;
  made.dx = (dx * scale).to(in.x.scalar_type()).view_as(in.x);
  made.dweight = (d * y).sum(0).to(in.weight.scalar_type());
  if (in.bias.defined()) made.dbias = d.sum(0).to(in.bias.scalar_type());
  return made;
}

at::Tensor with_textbook_backward(const NormInputs& in, bool centred,
                                  const std::function<at::Tensor(const NormInputs&)>& forward) {
  const auto bias = in.bias.defined() ? std::optional(in.bias) : std::nullopt;
  return NormFunction::apply(in.x, in.weight, bias, in.eps, centred, forward);
}

}  // namespace assay
