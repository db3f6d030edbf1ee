#include "training/parameter_watch.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <assay/reference.h>

#include <algorithm>
#include <cmath>
#include <limits>

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
    std::vector<at::Tensor> places = {at::empty({0}, at::kLong)};
    for (const Piece& piece : slice.pieces) {
      places.push_back(
          reference::drawn_below(piece.count, elements_of_a_piece, reference::fresh_seed()) +
          piece.at);
      parameters_.insert(parameters_.end(), static_cast<std::size_t>(places.back().numel()),
                         piece.parameter);
    }
    places_.push_back(at::cat(places));
  }
  before_ = taken(step.state());
}

ParameterWatch::Elements ParameterWatch::taken(const TrainingState& state) const {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> values = {at::empty({0}, at::kDouble)};
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const at::Tensor& of_slice = state.slices()[i].values;
    values.push_back(of_slice.detach()
                         .reshape({-1})
                         .index_select(0, places_[i].to(of_slice.device()))
                         .to(at::kDouble)
                         .cpu());
  }
  return {at::cat(values), steps_made(state)};
}

void ParameterWatch::compare(const TrainingStep& step, Verification& verification) {
  const at::NoGradGuard no_grad;
  Elements now = taken(step.state());
  const double steps = now.steps - before_.steps;
  const AdamWSettings& settings = step.state().settings();
  const double farthest = steps * settings.learning_rate * largest_step(settings);
  const double by_size =
      steps * (settings.learning_rate * settings.weight_decay + coarsest_step(step.state()));
  const at::Tensor moved = (now.values - before_.values).abs_();
  const at::Tensor allowed = before_.values.abs().add_(farthest).mul_(by_size).add_(farthest);
  const at::Tensor beyond = moved.gt(allowed);  // what is not a number is told of elsewhere
  before_ = std::move(now);
  // The optimizer's state was made anew.
  if (steps < 0 || !beyond.any().item<bool>()) return;
  const auto first = static_cast<std::size_t>(beyond.nonzero()[0].item<std::int64_t>());
  const std::string& name = step.model().parameters[parameters_[first]].name;
  verification = {.checked = true,
                  .error = std::numeric_limits<double>::infinity(),
                  .tolerance = verification.tolerance,
                  .worst = "parameter " + name + ", which a call has changed,"};
}

}  // namespace assay::training
