#include "compile/fused_parts/residual_norm.h"

#include <ATen/ops/empty.h>
#include <c10/cuda/CUDAStream.h>

#include "compile/fused_parts/kernels/rms_norm.h"
#include "compile/fused_parts/node.h"
#include "compile/fused_parts/products.h"

namespace assay::fused {

namespace {

using torch::autograd::variable_list;

// In a stream narrower than fp32 the products' dtype is the stream's.
at::ScalarType norm_output(at::ScalarType stream, const at::Tensor& x) {
  return stream == at::kFloat ? product_dtype(x) : stream;
}

// Without gaps and from a multiple of 16 bytes on: wide rows need it.
at::Tensor as_kernels_read(const at::Tensor& tensor) {
  const at::Tensor whole = tensor.detach().contiguous();
  const bool is_aligned = reinterpret_cast<std::uintptr_t>(whole.const_data_ptr()) % 16 == 0;
  return is_aligned ? whole : whole.clone();
}

struct Normed {
  at::Tensor sum, out, scale;
};

// residual may be undefined.
Normed normed(const at::Tensor& residual, const NormInputs& in) {
  const at::Tensor x = as_kernels_read(residual.defined() ? residual : in.x);
  const at::Tensor addend = residual.defined() ? as_kernels_read(in.x) : at::Tensor();
  const at::Tensor weight = as_kernels_read(in.weight);
  const auto columns = x.size(-1);
  const auto products = norm_output(x.scalar_type(), in.x);
  const at::TensorOptions options = x.options();
  Normed made;
  made.sum = residual.defined() ? at::empty(x.sizes(), options) : x;
  made.out = at::empty(x.sizes(), options.dtype(products));
  made.scale = at::empty({x.numel() / columns}, options.dtype(at::kFloat));
  launch(RmsNormForward{.dtypes = {dtype_of(x), dtype_of(made.out)},
                        .rows = made.scale.size(0),
                        .columns = static_cast<int>(columns),
                        .eps = static_cast<float>(in.eps),
                        .x = data_of(x),
                        .addend = data_of(addend),
                        .weight = data_of(weight),
                        .sum = residual.defined() ? data_of(made.sum) : nullptr,
                        .out = data_of(made.out),
                        .scale = made.scale.mutable_data_ptr<float>()},
         c10::cuda::getCurrentCUDAStream());
  return made;
}

struct Gradients {
  at::Tensor dx, daddend, dweight;
};

// What the backward of a norm needs.
struct Kept {
  at::Tensor x, weight, scale;
  at::ScalarType products = at::kFloat;
  bool adds = false;
};

// dsum: from elsewhere, may be undefined, as may dout.
Gradients gradients_of(const Kept& kept, const at::Tensor& dsum, const at::Tensor& dout) {
  const at::Tensor& x = kept.x;
  const at::Tensor aside = dsum.defined() ? as_kernels_read(dsum) : at::Tensor();
  if (!dout.defined()) return {aside, aside.to(kept.products), {}};
  const at::Tensor upstream = as_kernels_read(dout), weight = as_kernels_read(kept.weight);
  const auto rows = kept.scale.size(0), columns = x.size(-1);
  const bool narrows = kept.adds && kept.products != x.scalar_type();
  Gradients made;
  made.dx = at::empty(x.sizes(), x.options());
  if (narrows) made.daddend = at::empty(x.sizes(), x.options().dtype(kept.products));
  made.dweight = at::empty(weight.sizes(), weight.options());
  if (rows == 0) {
    made.dweight.zero_();
  }
  const at::Tensor parts = at::empty({blocks_of_backward(rows, static_cast<int>(columns)), columns},
                                     kept.scale.options());
  launch(RmsNormBackward{.dtypes = {dtype_of(x), dtype_of(upstream)},
                         .rows = rows,
                         .columns = static_cast<int>(columns),
                         .x = data_of(x),
                         .weight = data_of(weight),
                         .scale = kept.scale.const_data_ptr<float>(),
                         .dout = data_of(upstream),
                         .dsum = data_of(aside),
                         .dx = data_of(made.dx),
                         .daddend = data_of(made.daddend),
                         .parts = parts.mutable_data_ptr<float>(),
                         .dweight = data_of(made.dweight)},
         c10::cuda::getCurrentCUDAStream());
  if (kept.adds && !narrows) made.daddend = made.dx;
  return made;
}

// Inputs: the stream, what is added to it (where something is), the weight. Results: the sum
// (where there is one), the norm.
class NormNode final : public torch::autograd::Node {
 public:
  explicit NormNode(const std::vector<at::Tensor>& inputs) : Node(edges_to(inputs)) {}

  void keep(Kept kept) { kept_ = std::move(kept); }

  variable_list apply(variable_list&& gradients) override {
    TORCH_CHECK(kept_.x.defined(), torch::autograd::ERR_BACKWARD_TWICE);
    const c10::cuda::CUDAGuard device(kept_.x.device());
    const at::Tensor none;
    const at::Tensor& dsum = kept_.adds ? gradients.front() : none;
    if (!dsum.defined() && !gradients.back().defined()) {
      return variable_list(kept_.adds ? 3 : 2);
    }
    Gradients made = gradients_of(kept_, dsum, gradients.back());
    if (!kept_.adds) return {made.dx, made.dweight};
    return {made.dx, made.daddend, made.dweight};
  }

  void release_variables() override { kept_ = {.adds = kept_.adds}; }
  std::string name() const override { return "FusedNormBackward"; }

 private:
  Kept kept_;
};

std::pair<at::Tensor, at::Tensor> with_graph(const at::Tensor& residual, const NormInputs& in) {
  const bool adds = residual.defined();
  const std::vector<at::Tensor> inputs = adds ? std::vector<at::Tensor>{residual, in.x, in.weight}
                                              : std::vector<at::Tensor>{in.x, in.weight};
  std::shared_ptr<NormNode> node;
  if (wants_graph(inputs)) node = std::make_shared<NormNode>(inputs);
  const at::NoGradGuard no_graph;
  const c10::cuda::CUDAGuard device(in.x.device());
  Normed made = normed(residual, in);
  if (node) {
    node->keep({.x = made.sum,
                .weight = in.weight.detach(),
                .scale = made.scale,
                .products = made.out.scalar_type(),
                .adds = adds});
  }
  at::Tensor sum = adds ? result_of(node, made.sum) : at::Tensor();
  return {std::move(sum), result_of(node, made.out)};
}

bool fits(const at::Tensor& stream, const NormInputs& in) {
  return stream.is_cuda() && stream.dim() > 0 && stream.size(-1) > 0 &&
         is_taken(stream.scalar_type()) && !in.bias.defined() && in.weight.dim() == 1 &&
         in.weight.size(0) == stream.size(-1) && in.weight.scalar_type() == stream.scalar_type() &&
         in.weight.device() == stream.device() &&
         is_taken(norm_output(stream.scalar_type(), in.x)) &&
         stream.size(-1) <= (stream.size(-1) % 8 == 0 ? most_wide_columns : most_single_columns);
}

}  // namespace

bool takes_norm(const NormInputs& in) { return fits(in.x, in); }

at::Tensor norm(const NormInputs& in) { return with_graph({}, in).second; }

bool takes_add_norm(const at::Tensor& residual, const NormInputs& in) {
  return fits(residual, in) && in.x.sizes() == residual.sizes() &&
         in.x.device() == residual.device() &&
         in.x.scalar_type() == norm_output(residual.scalar_type(), in.x);
}

std::pair<at::Tensor, at::Tensor> add_norm(const at::Tensor& residual, const NormInputs& in) {
  return with_graph(residual, in);
}

}  // namespace assay::fused
