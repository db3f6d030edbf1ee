#pragma once

#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros_like.h>

#include <utility>
#include <vector>

#include "communication/parts/collectives.h"
#include "communication/parts/ready_order.h"

namespace assay::communication {

// An all-reduce for each parameter's gradient, where it lies, as soon as it is complete.
class ParameterMeans {
 public:
  ParameterMeans(const TrainedModel& model, Group group)
      : reductions_(std::move(group)), order_(trained(model), model.parameters.size()) {
    for (const auto& parameter : model.parameters) parameters_.push_back(parameter.tensor);
    arrange();
  }
  ParameterMeans(const ParameterMeans&) = delete;
  ParameterMeans& operator=(const ParameterMeans&) = delete;

  const Group& group() const { return reductions_.group(); }

  void begin() { order_.begin(); }
  void ready(std::size_t parameter) {
    if (group().size > 1) order_.ready(parameter);
  }
  void finish() {
    if (group().size == 1) return;
    const at::NoGradGuard no_grad;
    const bool agreed = order_.finish(group(), parameters_.front().device());
    reductions_.finish();
    if (agreed) arrange();
  }

 private:
  static std::vector<std::size_t> trained(const TrainedModel& model) {
    std::vector<std::size_t> trained;
    for (std::size_t i = 0; i < model.parameters.size(); ++i) {
      if (model.parameters[i].tensor.requires_grad()) trained.push_back(i);
    }
    return trained;
  }

  void arrange() {
    std::vector<Item> items;
    for (const std::size_t parameter : order_.parameters()) items.push_back({parameter});
    order_.arrange(std::move(items),
                   [this](std::size_t item) { launch(order_.parameters()[item]); });
  }

  void launch(std::size_t parameter) {
    const at::NoGradGuard no_grad;
    at::Tensor& gradient = parameters_[parameter].mutable_grad();
    if (!gradient.defined()) gradient = at::zeros_like(parameters_[parameter]);
    reductions_.start_mean(gradient);
  }

  std::vector<at::Tensor> parameters_;
  InFlight reductions_;
  ReadyOrder order_;
};

}  // namespace assay::communication
