#include "movement.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <assay/reference.h>

#include <cmath>

namespace assay::model_step {

namespace {

constexpr std::int64_t elements_of_a_slice = 64;
constexpr double movement_allowance = 10;

}  // namespace

Movement::Movement(const training::TrainingState& state, const CaseContext& context) {
  const std::size_t slices = state.slices().size();
  const std::size_t kept = state.optimizer_state().size();
  const bool known = kept == 3 * slices || kept == 4 * slices;
  if (context.group.size > 1 || context.precision.loss_scaling || !known) return;
  for (std::size_t i = 0; i < slices; ++i) {
    const at::Tensor& values = state.slices()[i].values;
    if (kept == 3 * slices && values.element_size() < 4) return;  // a step may round to nothing
    kept_.push_back(taken(
        state, i,
        reference::drawn_below(values.numel(), elements_of_a_slice, reference::fresh_seed())));
  }
}

Movement::Elements Movement::taken(const training::TrainingState& state, std::size_t slice,
                                   const at::Tensor& places) {
  const std::size_t slices = state.slices().size();
  const std::vector<at::Tensor> kept = state.optimizer_state();
  const bool masters = kept.size() == 4 * slices;
  const std::size_t first = masters ? slices : 0;
  const auto some = [&](const at::Tensor& tensor) {
    return tensor.detach()
        .reshape({-1})
        .index_select(0, places.to(tensor.device()))
        .to(at::kCPU, at::kDouble);
  };
  return {places, some(masters ? kept[slice] : state.slices()[slice].values),
          some(kept[first + slice]), some(kept[first + slices + slice]),
          kept[first + 2 * slices + slice].item<double>()};
}

void Movement::compare(const training::TrainingState& state, double tolerance,
                       Verification& verification) const {
  const at::NoGradGuard no_grad;
  const training::AdamWSettings settings;
  std::vector<at::Tensor> moved, expected;
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    const Elements& old = kept_[i];
    const at::Tensor& gradients = state.slices()[i].values.grad();
    if (!gradients.defined()) return;
    const auto g = gradients.reshape({-1})
                       .index_select(0, old.places.to(gradients.device()))
                       .to(at::kCPU, at::kDouble);
    const double step = old.step + 1;
    const auto m = old.first * settings.beta1 + g * (1 - settings.beta1);
    const auto v = old.second * settings.beta2 + g * g * (1 - settings.beta2);
    const auto root = (v / (1 - std::pow(settings.beta2, step))).sqrt_() + settings.eps;
    expected.push_back(old.value * (-settings.learning_rate * settings.weight_decay) -
                       m / root * (settings.learning_rate / (1 - std::pow(settings.beta1, step))));
    moved.push_back(taken(state, i, old.places).value - old.value);
  }
  if (moved.empty()) return;
  reference::compare(verification, "the parameters' step", at::cat(moved), at::cat(expected),
                     movement_allowance * tolerance);
}

}  // namespace assay::model_step
