#include "training/movement.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <assay/reference.h>

#include <algorithm>
#include <limits>

namespace assay::training {

namespace {

constexpr std::int64_t moved_elements = 64;
// A small gradient's moments are small differences of large numbers.
constexpr double movement_allowance = 10;
constexpr double least_normal_fp16 = 0x1p-14;

// Drawn from each of the slice's parameters; what is in none is padding.
at::Tensor places_in(const Slice& slice) {
  std::vector<at::Tensor> places = {at::empty({0}, at::kLong)};
  for (const Piece& piece : slice.pieces) {
    places.push_back(reference::drawn_below(piece.count, moved_elements, reference::fresh_seed()) +
                     piece.at);
  }
  return at::cat(places).to(slice.values.device());
}

at::Tensor drawn(const at::Tensor& tensor, const at::Tensor& places) {
  return tensor.detach().reshape({-1}).index_select(0, places).to(at::kDouble);
}

at::Tensor on_host(const std::vector<at::Tensor>& parts) { return at::cat(parts).cpu(); }

// The coarsest that the elements are kept in.
at::ScalarType coarsest(const TrainingState& state) {
  at::ScalarType found = at::kDouble;
  for (std::size_t i = 0; i < state.slices().size(); ++i) {
    const at::ScalarType dtype = state.updated(i)->value.scalar_type();
    if (step_of(dtype) > step_of(found)) found = dtype;
  }
  return found;
}

// The change that was found, but for what rounding to the dtype makes of it.
at::Tensor without_rounding(const at::Tensor& before, const at::Tensor& after,
                            const at::Tensor& expected, double step) {
  const at::Tensor off = after - before - expected;
  const at::Tensor beyond = (off.abs() - step * after.abs()).clamp_min(0);
  // What is not finite stays so.
  return expected + at::where(off.isfinite(), off.sign() * beyond, off);
}

}  // namespace

double step_of(at::ScalarType dtype) {
  switch (dtype) {
    case at::kBFloat16:
      return 0x1p-7;
    case at::kHalf:
      return 0x1p-10;
    case at::kFloat:
      return std::numeric_limits<float>::epsilon();
    default:
      return std::numeric_limits<double>::epsilon();
  }
}

Movement::Movement(const TrainingState& state) {
  const at::NoGradGuard no_grad;
  for (std::size_t i = 0; i < state.slices().size(); ++i) {
    if (!state.updated(i)) {
      places_.clear();
      return;
    }
    places_.push_back(places_in(state.slices()[i]));
  }
  if (!places_.empty()) before_ = taken(state);
}

Movement::Elements Movement::taken(const TrainingState& state) const {
  std::vector<at::Tensor> value, first, second, step;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const auto updated = state.updated(i).value();
    value.push_back(drawn(updated.value, places_[i]));
    first.push_back(drawn(updated.first_moment, places_[i]));
    second.push_back(drawn(updated.second_moment, places_[i]));
    step.push_back(updated.step.detach().to(at::kDouble).expand({places_[i].numel()}));
  }
  return {on_host(value), on_host(first), on_host(second), on_host(step)};
}

// Those that a variant keeps in fp16 were unscaled there: what has underflown is not what the
// optimizer took, and where it limits their norm all are not.
Movement::Gradients Movement::gradients(const TrainingState& state) const {
  std::vector<at::Tensor> values, updates, exact;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const at::Tensor& gradient = state.slices()[i].values.grad();
    const auto of_all = [&](bool value) {
      return at::full({places_[i].numel()}, value, places_[i].options().dtype(at::kBool));
    };
    updates.push_back(of_all(gradient.defined()));
    if (!gradient.defined()) {
      values.push_back(at::zeros({places_[i].numel()}, places_[i].options().dtype(at::kDouble)));
      exact.push_back(of_all(true));
      continue;
    }
    values.push_back(drawn(gradient, places_[i]));
    const bool narrow =
        gradient.scalar_type() == at::kHalf && state.updated(i)->value.scalar_type() != at::kHalf;
    if (!narrow) exact.push_back(of_all(true));
    if (narrow && state.settings().max_grad_norm > 0) exact.push_back(of_all(false));
    if (narrow && state.settings().max_grad_norm <= 0) {
      exact.push_back(values.back().abs() >= least_normal_fp16);
    }
  }
  return {on_host(values), on_host(updates), on_host(exact)};
}

void Movement::compare(const TrainingState& state, Verification& verification) const {
  if (places_.empty()) return;
  const at::NoGradGuard no_grad;
  const AdamWSettings& settings = state.settings();
  const auto [g, updates, exact] = gradients(state);
  const Elements now = taken(state);
  const at::Tensor step = before_.step + 1;
  const at::Tensor first = (g - before_.first) * (1 - settings.beta1);
  const at::Tensor second = (g * g - before_.second) * (1 - settings.beta2);
  const at::Tensor root =
      ((before_.second + second) / (1 - at::pow(settings.beta2, step))).sqrt_() + settings.eps;
  const at::Tensor value =
      before_.value * (-settings.learning_rate * settings.weight_decay) -
      (before_.first + first) / root / (1 - at::pow(settings.beta1, step)) * settings.learning_rate;
  const at::ScalarType dtype = coarsest(state);
  const bool limited = settings.max_grad_norm > 0;  // and rounded to the gradients' dtype
  double tolerance = movement_allowance * reference::tolerance(dtype);
  for (const Slice& slice : state.slices()) {
    if (!limited || !slice.values.grad().defined()) continue;
    tolerance = std::max(
        tolerance, movement_allowance * reference::tolerance(slice.values.grad().scalar_type()));
  }
  const auto look_at = [&](const char* what, const at::Tensor& before, const at::Tensor& after,
                           const at::Tensor& change) {
    const at::Tensor expected = change * updates;
    const at::Tensor found = without_rounding(before, after, expected, step_of(dtype));
    reference::compare(verification, what, found.masked_select(exact),
                       expected.masked_select(exact), tolerance);
  };
  look_at("the count of steps", before_.step, now.step, at::ones_like(step));
  look_at("the parameters' step", before_.value, now.value, value);
  look_at("the step of the first moments", before_.first, now.first, first);
  look_at("the step of the second moments", before_.second, now.second, second);
}

}  // namespace assay::training
