#include "compile/fused_parts/activation.h"

#include <ATen/ops/empty.h>
#include <c10/cuda/CUDAStream.h>

#include "compile/fused_parts/kernels/gelu.h"
#include "compile/fused_parts/kernels/swiglu.h"
#include "compile/fused_parts/node.h"

namespace assay::fused {

namespace {

// Neither records a graph.
at::Tensor swiglu_of(const at::Tensor& gate, const at::Tensor& up) {
  const at::Tensor gates = as_rows(gate), ups = as_rows(up);
  const at::Tensor out = at::empty(gate.sizes(), gate.options());
  launch(SwigluForward{.dtype = dtype_of(gate),
                       .rows = gates.size(0),
                       .columns = static_cast<int>(gates.size(1)),
                       .gate = data_of(gates),
                       .up = data_of(ups),
                       .gate_stride = gates.stride(0),
                       .up_stride = ups.stride(0),
                       .out = data_of(out)},
         c10::cuda::getCurrentCUDAStream());
  return out;
}

at::Tensor gelu_of(const at::Tensor& x) {
  const at::Tensor rows = as_rows(x);
  const at::Tensor out = at::empty(x.sizes(), x.options());
  launch(GeluForward{.dtype = dtype_of(x),
                     .rows = rows.size(0),
                     .columns = static_cast<int>(rows.size(1)),
                     .x = data_of(rows),
                     .x_stride = rows.stride(0),
                     .out = data_of(out)},
         c10::cuda::getCurrentCUDAStream());
  return out;
}

class SwigluNode final : public torch::autograd::Node, public Recomputable {
 public:
  SwigluNode(const at::Tensor& gate, const at::Tensor& up)
      : Node(edges_to({gate, up})), gate_(gate.detach()), up_(up.detach()) {}

  torch::autograd::variable_list apply(torch::autograd::variable_list&& gradients) override {
    TORCH_CHECK(gate_.defined(), torch::autograd::ERR_BACKWARD_TWICE);
    if (!gradients[0].defined()) return {at::Tensor(), at::Tensor()};
    const c10::cuda::CUDAGuard device(gate_.device());
    const at::Tensor gate = as_rows(gate_), up = as_rows(up_), dout = as_rows(gradients[0]);
    const auto columns = gate.size(1);
    const at::Tensor both = at::empty({gate.size(0), 2 * columns}, gate.options());
    const at::Tensor dgate = both.narrow(1, 0, columns), dup = both.narrow(1, columns, columns);
    launch(SwigluBackward{.dtype = dtype_of(gate),
                          .rows = gate.size(0),
                          .columns = static_cast<int>(columns),
                          .gate = data_of(gate),
                          .up = data_of(up),
                          .dout = data_of(dout),
                          .gate_stride = gate.stride(0),
                          .up_stride = up.stride(0),
                          .dout_stride = dout.stride(0),
                          .dgate = data_of(dgate),
                          .dup = data_of(dup),
                          .gradient_stride = both.stride(0)},
           c10::cuda::getCurrentCUDAStream());
    return {dgate.view(gate_.sizes()), dup.view(up_.sizes())};
  }

  at::Tensor again() const override {
    TORCH_CHECK(gate_.defined(), torch::autograd::ERR_BACKWARD_TWICE);
    return swiglu_of(gate_, up_);
  }

  void release_variables() override { gate_ = up_ = at::Tensor(); }
  std::string name() const override { return "FusedSwigluBackward"; }

 private:
  at::Tensor gate_, up_;
};

class GeluNode final : public torch::autograd::Node, public Recomputable {
 public:
  explicit GeluNode(const at::Tensor& x) : Node(edges_to({x})), x_(x.detach()) {}

  torch::autograd::variable_list apply(torch::autograd::variable_list&& gradients) override {
    TORCH_CHECK(x_.defined(), torch::autograd::ERR_BACKWARD_TWICE);
    if (!gradients[0].defined()) return {at::Tensor()};
    const c10::cuda::CUDAGuard device(x_.device());
    const at::Tensor x = as_rows(x_), dout = as_rows(gradients[0]);
    const at::Tensor dx = at::empty(x_.sizes(), x_.options());
    launch(GeluBackward{.dtype = dtype_of(x),
                        .rows = x.size(0),
                        .columns = static_cast<int>(x.size(1)),
                        .x = data_of(x),
                        .dout = data_of(dout),
                        .x_stride = x.stride(0),
                        .dout_stride = dout.stride(0),
                        .dx = data_of(dx)},
           c10::cuda::getCurrentCUDAStream());
    return {dx};
  }

  at::Tensor again() const override {
    TORCH_CHECK(x_.defined(), torch::autograd::ERR_BACKWARD_TWICE);
    return gelu_of(x_);
  }

  void release_variables() override { x_ = at::Tensor(); }
  std::string name() const override { return "FusedGeluBackward"; }

 private:
  at::Tensor x_;
};

}  // namespace

bool takes_swiglu(const at::Tensor& gate, const at::Tensor& up) {
  return gate.is_cuda() && gate.dim() > 0 && is_taken(gate.scalar_type()) &&
         up.device() == gate.device() && up.scalar_type() == gate.scalar_type() &&
         up.sizes() == gate.sizes();
}

at::Tensor swiglu(const at::Tensor& gate, const at::Tensor& up) {
  std::shared_ptr<torch::autograd::Node> node;
  if (wants_graph({gate, up})) node = std::make_shared<SwigluNode>(gate, up);
  const at::NoGradGuard no_graph;
  const c10::cuda::CUDAGuard device(gate.device());
  return result_of(node, swiglu_of(gate.detach(), up.detach()));
}

bool takes_gelu(const at::Tensor& x) {
  return x.is_cuda() && x.dim() > 0 && is_taken(x.scalar_type());
}

at::Tensor gelu(const at::Tensor& x) {
  std::shared_ptr<torch::autograd::Node> node;
  if (wants_graph({x})) node = std::make_shared<GeluNode>(x);
  const at::NoGradGuard no_graph;
  const c10::cuda::CUDAGuard device(x.device());
  return result_of(node, gelu_of(x.detach()));
}

}  // namespace assay::fused
