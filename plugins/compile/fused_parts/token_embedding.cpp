#include "compile/fused_parts/token_embedding.h"

#include <ATen/ops/embedding.h>
#include <ATen/ops/zeros.h>
#include <c10/cuda/CUDAStream.h>

#include "compile/fused_parts/kernels/embedding.h"
#include "compile/fused_parts/node.h"

namespace assay::fused {

namespace {

class EmbeddingNode final : public torch::autograd::Node {
 public:
  EmbeddingNode(const at::Tensor& tokens, const at::Tensor& table)
      : Node(edges_to({table})),
        tokens_(tokens.contiguous()),
        sizes_(table.sizes().vec()),
        options_(table.options().requires_grad(false)) {}

  torch::autograd::variable_list apply(torch::autograd::variable_list&& gradients) override {
    TORCH_CHECK(tokens_.defined(), torch::autograd::ERR_BACKWARD_TWICE);
    if (!gradients[0].defined()) return {at::Tensor()};
    const c10::cuda::CUDAGuard device(tokens_.device());
    const at::Tensor dout = as_rows(gradients[0]);
    const at::Tensor dtable = at::zeros(sizes_, options_);
    launch(EmbeddingBackward{.dtype = dtype_of(dtable),
                             .tokens = tokens_.numel(),
                             .columns = static_cast<int>(sizes_[1]),
                             .token = tokens_.const_data_ptr<std::int64_t>(),
                             .dout = data_of(dout),
                             .dout_stride = dout.stride(0),
                             .dtable = data_of(dtable)},
           c10::cuda::getCurrentCUDAStream());
    return {dtable};
  }

  void release_variables() override { tokens_ = at::Tensor(); }
  std::string name() const override { return "FusedEmbeddingBackward"; }

 private:
  at::Tensor tokens_;
  std::vector<std::int64_t> sizes_;
  at::TensorOptions options_;
};

}  // namespace

bool takes_embedding(const at::Tensor& tokens, const at::Tensor& table) {
  return table.is_cuda() && table.dim() == 2 && is_taken(table.scalar_type()) &&
         tokens.device() == table.device() && tokens.scalar_type() == at::kLong &&
         tokens.numel() > 0 && tokens.numel() <= most_tokens && table.size(1) > 0;
}

at::Tensor embedded(const at::Tensor& tokens, const at::Tensor& table) {
  std::shared_ptr<torch::autograd::Node> node;
  if (wants_graph({table})) node = std::make_shared<EmbeddingNode>(tokens, table);
  const at::NoGradGuard no_graph;
  return result_of(node, at::embedding(table.detach(), tokens));
}

}  // namespace assay::fused
