#include "training/parameter_watch.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/tensor.h>
#include <assay/reference.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "training/movement.h"

namespace assay::training {

namespace {

// A share p of changed elements escapes them with a chance of (1 - p)^256.
constexpr std::int64_t elements_of_a_piece = 256;

// The farthest that a step of AdamW without weight decay moves an element, in learning rates: by
// Cauchy and Schwarz |m| <= (1 - b1) / sqrt((1 - b1^2 / b2) (1 - b2)) sqrt(v), and the corrections
// of both moments together are at most 1.
double largest_step(const AdamWSettings& settings) {
  const double b1 = settings.beta1, b2 = settings.beta2;
  return (1 - b1) / std::sqrt((1 - b1 * b1 / b2) * (1 - b2));
}

double steps_made(const TrainingState& state) {
  double steps = 0;
  for (std::size_t i = 0; i < state.slices().size(); ++i) {
    const auto updated = state.updated(i);
    if (updated) steps = std::max(steps, updated->step.max().item<double>());
  }
  return steps;
}

double coarsest_step(const TrainingState& state) {
  double step = 0;
  for (const Slice& slice : state.slices()) {
    step = std::max(step, step_of(slice.values.scalar_type()));
  }
  return step;
}

}  // namespace

ParameterWatch::ParameterWatch(const TrainingStep& step) {
  for (const Slice& slice : step.state().slices()) {
    std::vector<std::int64_t>& places = places_.emplace_back();
    for (const Piece& piece : slice.pieces) {
      const at::Tensor drawn =
          reference::drawn_below(piece.count, elements_of_a_piece, reference::fresh_seed());
      const auto* const begin = drawn.const_data_ptr<std::int64_t>();
      std::transform(begin, begin + drawn.numel(), std::back_inserter(places),
                     [&](std::int64_t place) { return piece.at + place; });
      parameters_.insert(parameters_.end(), static_cast<std::size_t>(drawn.numel()),
                         piece.parameter);
    }
  }
  before_ = taken(step.state());
}

ParameterWatch::Elements ParameterWatch::taken(const TrainingState& state) const {
  const at::NoGradGuard no_grad;
  Elements elements;
  elements.steps = steps_made(state);
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const at::Tensor& values = state.slices()[i].values;
    const at::Tensor places = at::tensor(places_[i], at::TensorOptions(at::kLong));
    const at::Tensor found = values.detach()
                                 .reshape({-1})
                                 .index_select(0, places.to(values.device()))
                                 .to(at::kDouble)
                                 .cpu();
    const auto* const begin = found.const_data_ptr<double>();
    elements.values.insert(elements.values.end(), begin, begin + found.numel());
  }
  return elements;
}

void ParameterWatch::compare(const TrainingStep& step, Verification& verification) {
  const Elements before = std::exchange(before_, taken(step.state()));
  const double steps = before_.steps - before.steps;
  const AdamWSettings& settings = step.state().settings();
  const double farthest = steps * settings.learning_rate * largest_step(settings);
  const double by_size =
      steps * (settings.learning_rate * settings.weight_decay + coarsest_step(step.state()));
  for (std::size_t i = 0; i < before.values.size(); ++i) {
    const double allowed = farthest + by_size * (std::abs(before.values[i]) + farthest);
    // What is not a number is told of elsewhere.
    if (steps >= 0 && !(std::abs(before_.values[i] - before.values[i]) > allowed)) continue;
    const std::string& name = step.model().parameters[parameters_[i]].name;
    verification = {.checked = true,
                    .error = std::numeric_limits<double>::infinity(),
                    .tolerance = verification.tolerance,
                    .worst = "parameter " + name + ", which a call has changed,"};
    return;
  }
}

}  // namespace assay::training
