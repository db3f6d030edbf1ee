#include "compile/fused_parts/loss.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/mean.h>
#include <c10/cuda/CUDAStream.h>

#include "compile/fused_parts/kernels/cross_entropy.h"
#include "compile/fused_parts/node.h"

namespace assay::fused {

namespace {

class LossNode final : public torch::autograd::Node {
 public:
  explicit LossNode(const at::Tensor& logits) : Node(edges_to({logits})) {}

  void keep(at::Tensor logits, at::Tensor targets, at::Tensor lse) {
    logits_ = std::move(logits);
    targets_ = std::move(targets);
    lse_ = std::move(lse);
  }

  torch::autograd::variable_list apply(torch::autograd::variable_list&& gradients) override {
    TORCH_CHECK(logits_.defined(), torch::autograd::ERR_BACKWARD_TWICE);
    if (!gradients[0].defined()) return {at::Tensor()};
    const c10::cuda::CUDAGuard device(logits_.device());
    const at::Tensor dloss = gradients[0].to(at::kFloat);
    const at::Tensor dlogits = at::empty(logits_.sizes(), logits_.options());
    launch(CrossEntropyBackward{.dtype = dtype_of(logits_),
                                .rows = logits_.size(0),
                                .classes = static_cast<int>(logits_.size(1)),
                                .logits = data_of(logits_),
                                .targets = targets_.const_data_ptr<std::int64_t>(),
                                .lse = lse_.const_data_ptr<float>(),
                                .dloss = dloss.const_data_ptr<float>(),
                                .dlogits = data_of(dlogits)},
           c10::cuda::getCurrentCUDAStream());
    return {dlogits};
  }

  void release_variables() override { logits_ = targets_ = lse_ = at::Tensor(); }
  std::string name() const override { return "FusedLossBackward"; }

 private:
  at::Tensor logits_, targets_, lse_;
};

}  // namespace

bool takes_loss(const at::Tensor& logits, const at::Tensor& targets) {
  return logits.is_cuda() && logits.dim() == 2 && logits.numel() > 0 &&
         is_taken(logits.scalar_type()) && targets.dim() == 1 &&
         targets.scalar_type() == at::kLong && targets.device() == logits.device() &&
         targets.size(0) == logits.size(0);
}

at::Tensor loss(const at::Tensor& logits, const at::Tensor& targets) {
  std::shared_ptr<LossNode> node;
  if (wants_graph({logits})) node = std::make_shared<LossNode>(logits);
  const at::NoGradGuard no_graph;
  const c10::cuda::CUDAGuard device(logits.device());
  const at::Tensor rows = logits.detach().contiguous(), wanted = targets.contiguous();
  const at::Tensor of_rows = at::empty({2, rows.size(0)}, rows.options().dtype(at::kFloat));
  const at::Tensor lse = of_rows[0], losses = of_rows[1];
  launch(CrossEntropyForward{.dtype = dtype_of(rows),
                             .rows = rows.size(0),
                             .classes = static_cast<int>(rows.size(1)),
                             .logits = data_of(rows),
                             .targets = wanted.const_data_ptr<std::int64_t>(),
                             .lse = lse.mutable_data_ptr<float>(),
                             .losses = losses.mutable_data_ptr<float>()},
         c10::cuda::getCurrentCUDAStream());
  if (node) node->keep(rows, wanted, lse);
  return result_of(node, at::mean(losses));
}

}  // namespace assay::fused
