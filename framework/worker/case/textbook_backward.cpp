// Textbook backwards in plain operations, for variants that have a forward kernel alone.

#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
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

  // With y the normalised x and dy = dout · weight: dx = (dy − y · mean(dy · y)) · scale; a centred
  // norm also subtracts the mean of dy. Ba 2016; Zhang and Sennrich 2019.
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const bool centred = context->saved_data["centred"].toBool();
    const auto n_cols = saved[0].size(-1);
    const auto dtype = wide(saved[0]);
    auto y = saved[0].reshape({-1, n_cols}).to(dtype);
    if (centred) y = y - y.mean(-1, /*keepdim=*/true);
    const auto scale =
        at::rsqrt(y.square().mean(-1, /*keepdim=*/true) + context->saved_data["eps"].toDouble());
    y = y * scale;
    const auto dout = gradients[0].reshape({-1, n_cols}).to(dtype);
    const auto dy = dout * saved[1].to(dtype);
    auto dx = dy - y * (dy * y).mean(-1, /*keepdim=*/true);
    if (centred) dx = dx - dy.mean(-1, /*keepdim=*/true);
    at::Tensor dbias;
    if (context->saved_data["biased"].toBool()) dbias = dout.sum(0).to(saved[1].scalar_type());
    return {(dx * scale).to(saved[0].scalar_type()).view_as(saved[0]),
            (dout * y).sum(0).to(saved[1].scalar_type()),
            dbias,
            at::Tensor(),
            at::Tensor(),
            at::Tensor()};
  }
};

}  // namespace

AttentionGradients textbook_backward(const AttentionInputs& in, const at::Tensor& out,
                                     const at::Tensor& lse, const at::Tensor& dout) {
  const auto dtype = wide(in.q);
  const auto q = in.q.to(dtype), k = in.k.to(dtype), v = in.v.to(dtype), d = dout.to(dtype);
  auto p = (at::matmul(q, k.transpose(-2, -1)) * in.scale - lse.to(dtype).unsqueeze(-1)).exp();
  if (in.causal) {
    const auto seq_q = q.size(2), seq_k = k.size(2);
    const auto options = q.options().dtype(at::kBool);
    p = p.masked_fill(at::ones({seq_q, seq_k}, options).triu(1 + seq_k - seq_q), 0);
  }
  const auto dp = at::matmul(d, v.transpose(-2, -1));
  const auto ds = p * (dp - (d * out.to(dtype)).sum(-1, /*keepdim=*/true)) * in.scale;
  const auto narrow = [&](const at::Tensor& x) { return x.to(in.q.scalar_type()); };
  return {narrow(at::matmul(ds, k)), narrow(at::matmul(ds.transpose(-2, -1), q)),
          narrow(at::matmul(p.transpose(-2, -1), d))};
}

at::Tensor with_textbook_backward(const NormInputs& in, bool centred,
                                  const std::function<at::Tensor(const NormInputs&)>& forward) {
  const auto bias = in.bias.defined() ? std::optional(in.bias) : std::nullopt;
  return NormFunction::apply(in.x, in.weight, bias, in.eps, centred, forward);
}

}  // namespace assay
