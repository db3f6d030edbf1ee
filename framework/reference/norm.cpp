#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/rsqrt.h>
#include <assay/reference.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>

namespace assay::reference {

namespace {

constexpr std::int64_t block_elements = std::int64_t{1} << 24;

at::Tensor wide_leaf(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.detach().to(at::kDouble).clone().requires_grad_() : at::Tensor();
}

}  // namespace

at::Tensor differentiable_norm(const NormInputs& in, bool centred) {
  auto x = in.x.to(at::kDouble);
  if (centred) x = x - x.mean(-1, /*keepdim=*/true);
  const auto mean_square = (x * x).mean(-1, /*keepdim=*/true);
  const auto normed = x * at::rsqrt(mean_square + in.eps) * in.weight.to(at::kDouble);
  return in.bias.defined() ? normed + in.bias.to(at::kDouble) : normed;
}

NormResult norm(const NormInputs& in, bool centred, const at::Tensor& dout) {
  const at::AutoGradMode recorded(dout.defined());
  const auto n_cols = in.x.size(-1);
  const auto x = in.x.detach().reshape({-1, n_cols});
  const auto dout_rows = dout.defined() ? dout.detach().reshape({-1, n_cols}) : at::Tensor();
  const auto block = std::max<std::int64_t>(1, block_elements / n_cols);
  NormInputs wide{{}, wide_leaf(in.weight), wide_leaf(in.bias), in.eps};
  const auto wide_options = x.options().dtype(at::kDouble);
  NormResult made;
  made.out = at::empty(x.sizes(), wide_options);
  if (dout.defined()) made.dx = at::empty(x.sizes(), wide_options);
  for (std::int64_t first = 0; first < x.size(0); first += block) {
    const auto count = std::min(block, x.size(0) - first);
    wide.x = wide_leaf(x.narrow(0, first, count));
    const auto result = differentiable_norm(wide, centred);
    made.out.narrow(0, first, count).copy_(result.detach());
    if (!dout.defined()) continue;
    torch::autograd::backward({result}, {dout_rows.narrow(0, first, count).to(at::kDouble)});
    made.dx.narrow(0, first, count).copy_(wide.x.grad());
  }
  made.out = made.out.view(in.x.sizes());
  if (!dout.defined()) return made;
  made.dx = made.dx.view(in.x.sizes());
  made.dweight = wide.weight.grad();
  if (wide.bias.defined()) made.dbias = wide.bias.grad();
  return made;
}

NormResult norm_columns(const NormInputs& in, bool centred, const at::Tensor& dout,
                        const at::Tensor& columns) {
  const at::NoGradGuard no_grad;
  const auto n_cols = in.x.size(-1);
  const auto rows = in.x.detach().reshape({-1, n_cols});
  // A look's time is mostly that of these sums. In fp32 they err a thousandth of its tolerance.
  const auto sums = rows.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  auto mean_square = at::linalg_vector_norm(rows, 2, at::IntArrayRef{1}, /*keepdim=*/true, sums)
                         .to(at::kDouble)
                         .square()
                         .div_(static_cast<double>(n_cols));
  const auto places = columns.to(rows.device());
  auto normed = rows.index_select(1, places).to(at::kDouble);
  if (centred) {
    const auto means = rows.mean(at::IntArrayRef{1}, /*keepdim=*/true, sums).to(at::kDouble);
    mean_square -= means.square();
    normed -= means;
  }
  normed *= at::rsqrt(mean_square + in.eps);
  const auto given = dout.detach().reshape({-1, n_cols}).index_select(1, places).to(at::kDouble);
  NormResult made;
  made.dweight = (given * normed).sum(0);
  made.dbias = given.sum(0);
  return made;
}

at::Tensor textbook_norm(const NormInputs& in, bool centred) {
  auto x = in.x.to(in.x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat);
  if (centred) x = x - x.mean(-1, /*keepdim=*/true);
  const auto mean_square = x.square().mean(-1, /*keepdim=*/true);
  auto out = x * at::rsqrt(mean_square + in.eps) * in.weight;
  if (in.bias.defined()) out = out + in.bias;
  return out.to(in.x.scalar_type());
}

AddNormResult add_norm(const at::Tensor& residual, const NormInputs& in, bool centred,
                       const at::Tensor& dsum, const at::Tensor& dout) {
  const at::NoGradGuard no_grad;
  NormInputs wide = in;
  wide.x = residual.to(at::kDouble) + in.x.to(at::kDouble);
  NormResult normed = norm(wide, centred, dout);
  AddNormResult made = {wide.x, normed.out, {}, normed.dweight, normed.dbias};
  if (dout.defined()) made.dsum = normed.dx;
  if (dsum.defined()) {
    const auto own = dsum.to(at::kDouble);
    made.dsum = made.dsum.defined() ? made.dsum + own : own;
  }
  return made;
}

}  // namespace assay::reference
