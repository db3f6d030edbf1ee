#include "training/mean_of_ranks.h"

#include <ATen/core/grad_mode.h>

namespace assay::training {

void MeanOfRanks::attach(const TrainedModel& model, const Mesh& mesh, TraceHandle) {
  for (const auto& parameter : model.parameters) parameters_.push_back(parameter.tensor);
  group_ = mesh.world();
}

void MeanOfRanks::backward_finished() {
  const at::NoGradGuard no_grad;
  for (at::Tensor& parameter : parameters_) {
    std::vector<at::Tensor> gradients = {parameter.mutable_grad()};
    group_.backend->allreduce(gradients)->wait();
    gradients.front().div_(group_.size);
  }
}

}  // namespace assay::training
