#include <ATen/core/grad_mode.h>
#include <ATen/ops/matmul.h>
#include <assay/reference.h>

#include "model/textbook_ops.h"

namespace assay::reference {

LinearResult linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& dout) {
  const at::NoGradGuard no_grad;
  const auto wide_x = x.to(at::kDouble), wide_weight = weight.to(at::kDouble);
  LinearResult made;
  made.out = at::matmul(wide_x, wide_weight.t());
  if (!dout.defined()) return made;
  const auto wide_dout = dout.to(at::kDouble);
  made.dx = at::matmul(wide_dout, wide_weight);
  made.dweight =
      at::matmul(wide_dout.reshape({-1, weight.size(0)}).t(), wide_x.reshape({-1, weight.size(1)}));
  return made;
}

Ops operations(bool norm_has_bias) {
  Ops ops = model::textbook_ops();
  ops.attention = differentiable_attention;
  ops.norm = [norm_has_bias](const NormInputs& in) {
    return differentiable_norm(in, norm_has_bias).to(in.x.scalar_type());
  };
  ops.norm_has_bias = norm_has_bias;
  return ops;
}

}  // namespace assay::reference
