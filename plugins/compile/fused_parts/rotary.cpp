#include "compile/fused_parts/rotary.h"

#include <ATen/ops/empty.h>
#include <c10/cuda/CUDAStream.h>

#include "compile/fused_parts/kernels/rope.h"
#include "compile/fused_parts/node.h"
#include "compile/fused_parts/products.h"

namespace assay::fused {

namespace {

Heads heads_of(const at::Tensor& x) { return {data_of(x), x.stride(0), x.stride(1), x.stride(2)}; }

RopeCall rope_call(const at::Tensor& from, const at::Tensor& to, const at::Tensor& cos,
                   const at::Tensor& sin, bool back) {
  return {.dtype = dtype_of(from),
          .batch = from.size(0),
          .seq = from.size(1),
          .heads = static_cast<int>(from.size(2)),
          .d_head = static_cast<int>(from.size(3)),
          .from = heads_of(from),
          .to = heads_of(to),
          .cos = cos.const_data_ptr<float>(),
          .sin = sin.const_data_ptr<float>(),
          .back = back};
}

class RopeNode final : public torch::autograd::Node {
 public:
  RopeNode(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin, GradientPlace place)
      : Node(edges_to({x})), cos_(cos.detach()), sin_(sin.detach()), place_(std::move(place)) {}

  torch::autograd::variable_list apply(torch::autograd::variable_list&& gradients) override {
    TORCH_CHECK(cos_.defined(), torch::autograd::ERR_BACKWARD_TWICE);
    at::Tensor dout = gradients[0];
    if (!dout.defined()) return {at::Tensor()};
    const c10::cuda::CUDAGuard device(dout.device());
    const at::Tensor dx = place_.places ? place_.places->place(place_.result).view(dout.sizes())
                                        : at::empty(dout.sizes(), dout.options());
    const bool is_apart = dout.stride(3) != 1 || !can_launch(rope_call(dout, dx, cos_, sin_, true));
    if (is_apart) dout = dout.contiguous();
    launch(rope_call(dout, dx, cos_, sin_, true), c10::cuda::getCurrentCUDAStream());
    return {dx};
  }

  void release_variables() override { cos_ = sin_ = at::Tensor(); }
  std::string name() const override { return "FusedRopeBackward"; }

 private:
  at::Tensor cos_, sin_;
  GradientPlace place_;
};

}  // namespace

bool takes_rope(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin) {
  const auto is_table = [&](const at::Tensor& table) {
    return table.scalar_type() == at::kFloat && table.is_contiguous() &&
           table.device() == x.device() && table.dim() == 2 && table.size(0) == x.size(1) &&
           2 * table.size(1) == x.size(3) && !table.requires_grad();
  };
  return x.is_cuda() && x.dim() == 4 && is_taken(x.scalar_type()) && x.stride(3) == 1 &&
         is_table(cos) && is_table(sin) && x.numel() > 0 &&
         can_launch(rope_call(x, x, cos, sin, false));
}

at::Tensor rope(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin) {
  std::shared_ptr<torch::autograd::Node> node;
  if (wants_graph({x})) node = std::make_shared<RopeNode>(x, cos, sin, claimed_place(x));
  const at::NoGradGuard no_graph;
  const c10::cuda::CUDAGuard device(x.device());
  const at::Tensor out = at::empty(x.sizes(), x.options());
  launch(rope_call(x, out, cos, sin, false), c10::cuda::getCurrentCUDAStream());
  return result_of(node, out);
}

}  // namespace assay::fused
