#include "reference/norm_reference.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>

#include "reference/reference.h"

namespace assay::model {

namespace {

constexpr std::int64_t block_elements = std::int64_t{1} << 24;

at::Tensor wide_leaf(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.detach().to(at::kDouble).clone().requires_grad_() : at::Tensor();
}

}  // namespace

NormReference norm_reference(const NormInputs& in, bool centred, const at::Tensor& dout) {
  const at::AutoGradMode recorded(dout.defined());
  const auto rows = in.x.size(0);
  const auto block = std::max<std::int64_t>(1, block_elements / in.x.size(1));
  NormInputs wide{{}, wide_leaf(in.weight), wide_leaf(in.bias), in.eps};
  const auto wide_options = in.x.options().dtype(at::kDouble).requires_grad(false);
  NormReference reference;
  reference.out = at::empty(in.x.sizes(), wide_options);
  if (dout.defined()) reference.dx = at::empty(in.x.sizes(), wide_options);
  for (std::int64_t first = 0; first < rows; first += block) {
    const auto count = std::min(block, rows - first);
    wide.x = wide_leaf(in.x.narrow(0, first, count));
    const auto result = reference_norm(wide, centred);
    reference.out.narrow(0, first, count).copy_(result.detach());
    if (!dout.defined()) continue;
    torch::autograd::backward({result}, {dout.narrow(0, first, count).to(at::kDouble)});
    reference.dx.narrow(0, first, count).copy_(wide.x.grad());
  }
  if (!dout.defined()) return reference;
  reference.dweight = wide.weight.grad();
  if (wide.bias.defined()) reference.dbias = wide.bias.grad();
  return reference;
}

}  // namespace assay::model
