#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros_like.h>
#include <assay/communication.h>

namespace {

// Plain data parallelism: one all-reduce for each parameter, in order, after the backward.
class Naive final : public assay::Communication {
 public:
  void attach(const assay::TrainedModel& model, const assay::Mesh& mesh,
              assay::TraceHandle) override {
    group_ = mesh.world();
    for (const auto& parameter : model.parameters) parameters_.push_back(parameter.tensor);
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
    for (auto& parameter : parameters_) {
      if (!parameter.requires_grad()) continue;
      auto& gradient = parameter.mutable_grad();
      // Every rank must join every all-reduce, also for parameters it did not use.
      if (!gradient.defined()) gradient = at::zeros_like(parameter);
      std::vector<at::Tensor> gradients = {gradient};
      group_.backend->allreduce(gradients)->wait();
      gradient.div_(group_.size);
    }
  }

  std::optional<assay::Sharing> sharing() override { return {{.gradient_rounds = 2}}; }

 private:
  std::vector<at::Tensor> parameters_;
  assay::Group group_;
};

}  // namespace

ASSAY_PLUGIN(Naive, "naive", "One all-reduce for each parameter's gradient, after the backward.")
