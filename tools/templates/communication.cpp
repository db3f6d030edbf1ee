#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/zeros_like.h>
#include <assay/communication.h>

namespace {

class Mine final : public assay::Communication {
 public:
  void attach(const std::vector<at::Tensor>& parameters, const assay::Group& group) override {
    parameters_ = parameters;
    group_ = group;
    if (group_.size == 1) return;
    const at::NoGradGuard no_grad;
    for (const auto& parameter : parameters_) {
      std::vector<at::Tensor> values = {parameter.detach()};
      group_.backend->broadcast(values)->wait();
    }
  }

  void backward_finished() override {
    if (group_.size == 1) return;
    const at::NoGradGuard no_grad;
    std::vector<at::Tensor> pieces;
    for (auto& parameter : parameters_) {
      auto& gradient = parameter.mutable_grad();
      if (!gradient.defined()) gradient = at::zeros_like(parameter);
      pieces.push_back(gradient.flatten());
    }
    std::vector<at::Tensor> all = {at::cat(pieces)};
    group_.backend->allreduce(all)->wait();
    all[0].div_(group_.size);
    std::int64_t offset = 0;
    for (auto& parameter : parameters_) {
      auto& gradient = parameter.mutable_grad();
      gradient.copy_(all[0].narrow(0, offset, gradient.numel()).view_as(gradient));
      offset += gradient.numel();
    }
  }

 private:
  std::vector<at::Tensor> parameters_;
  assay::Group group_;
};

}  // namespace

ASSAY_PLUGIN(Mine, "mine", "One all-reduce of all gradients in one tensor, after the backward.")
