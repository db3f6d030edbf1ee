#include "training/shards.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/full.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace assay::training {

namespace {

constexpr std::int64_t gathered_at_once = 1 << 24;  // elements

void reduce(const Group& world, at::Tensor& tensor, c10d::ReduceOp::RedOpType how) {
  if (world.size == 1) return;
  std::vector<at::Tensor> tensors = {tensor};
  c10d::AllreduceOptions options;
  options.reduceOp = how;
  world.backend->allreduce(tensors, options)->wait();
}

void check(const Piece& piece, const Slice& slice, const TrainedModel& model) {
  const bool known = piece.parameter < model.parameters.size();
  const bool fits = known && piece.first >= 0 && piece.count >= 0 && piece.at >= 0 &&
                    piece.first + piece.count <= model.parameters[piece.parameter].tensor.numel() &&
                    piece.at + piece.count <= slice.values.numel();
  if (fits) return;
  throw std::runtime_error(fmt::format(
      "a slice of '{}' says it holds {} elements from {} of parameter {}, at {} of its "
      "{}: there are not so many",
      slice.buffer, piece.count, piece.first, piece.parameter, piece.at, slice.values.numel()));
}

}  // namespace

Shards::Shards(TrainedModel model, CommunicationHandle communication, Group world)
    : model_(std::move(model)), communication_(communication), world_(std::move(world)) {
  if (communication_) slices_ = communication_.slices();
  if (!slices_) return;
  for (const Slice& slice : *slices_) {
    for (const Piece& piece : slice.pieces) check(piece, slice, model_);
  }
}

// Of several ranks that hold an element, the first one's counts.
void Shards::gather(std::size_t first, std::size_t last, bool gradient,
                    std::vector<at::Tensor>& whole) const {
  std::vector<std::int64_t> begins = {0};
  for (std::size_t i = first; i < last; ++i) {
    begins.push_back(begins.back() + model_.parameters[i].tensor.numel());
  }
  const auto& tensor = model_.parameters[first].tensor;
  const auto on_device = at::TensorOptions().device(tensor.device());
  const auto dtype = tensor.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  at::Tensor holder = at::full({begins.back()}, world_.size, on_device.dtype(at::kInt));
  at::Tensor values = at::zeros({begins.back()}, on_device.dtype(dtype));
  at::Tensor present = at::zeros({static_cast<std::int64_t>(last - first)}, at::kInt);
  for (const Slice& slice : *slices_) {
    const at::Tensor& source = gradient ? slice.values.grad() : slice.values;
    const at::Tensor flat = source.defined() ? source.detach().reshape(-1) : source;
    for (const Piece& piece : slice.pieces) {
      if (piece.parameter < first || piece.parameter >= last) continue;
      const std::int64_t begin = begins[piece.parameter - first] + piece.first;
      holder.narrow(0, begin, piece.count).fill_(world_.rank);
      if (!flat.defined()) continue;
      values.narrow(0, begin, piece.count).copy_(flat.narrow(0, piece.at, piece.count));
      present[static_cast<std::int64_t>(piece.parameter - first)] = 1;
    }
  }
  present = present.to(tensor.device());
  at::Tensor owner = holder;
  reduce(world_, owner, c10d::ReduceOp::MIN);
  reduce(world_, present, c10d::ReduceOp::MAX);
  // Not a product with 0, which keeps what is not finite.
  values = at::where(owner == world_.rank, values, at::zeros({}, values.options()));
  reduce(world_, values, c10d::ReduceOp::SUM);
  present = present.cpu();
  for (std::size_t i = first; i < last; ++i) {
    const auto& parameter = model_.parameters[i];
    const std::int64_t begin = begins[i - first];
    const std::int64_t count = parameter.tensor.numel();
    if (count > 0 && owner.narrow(0, begin, count).max().item<int>() == world_.size) {
      throw std::runtime_error(
          fmt::format("elements of parameter {} ({}) are in no rank's slice", i, parameter.name));
    }
    const bool has = present[static_cast<std::int64_t>(i - first)].item<int>() == 1;
    whole.push_back(has ? values.narrow(0, begin, count).view(parameter.tensor.sizes()).clone()
                        : at::Tensor());
  }
}

std::vector<at::Tensor> Shards::gather(bool gradient) const {
  std::vector<at::Tensor> whole;
  const std::size_t count = model_.parameters.size();
  for (std::size_t first = 0; first < count;) {
    const bool is_double = model_.parameters[first].tensor.scalar_type() == at::kDouble;
    std::int64_t elements = 0;
    std::size_t last = first;
    while (last < count &&
           (model_.parameters[last].tensor.scalar_type() == at::kDouble) == is_double &&
           (last == first || elements < gathered_at_once)) {
      elements += model_.parameters[last++].tensor.numel();
    }
    gather(first, last, gradient, whole);
    first = last;
  }
  return whole;
}

std::int64_t Shards::gathering_bytes() const {
  if (!slices_) return 0;
  std::int64_t result = 0, at_once = gathered_at_once;
  for (const auto& parameter : model_.parameters) {
    const std::int64_t elements = parameter.tensor.numel();
    result += elements * (parameter.tensor.scalar_type() == at::kDouble ? 8 : 4);
    at_once = std::max(at_once, elements);
  }
  // Of the parameters that are gathered at once also the owners, compared with this rank, and the
  // values before and behind the sum.
  constexpr std::int64_t bytes_at_once = 4 + 1 + 2 * 8;
  return result + at_once * bytes_at_once;
}

std::vector<at::Tensor> Shards::gather_parameters() const {
  const at::NoGradGuard no_grad;
  if (slices_) return gather(/*gradient=*/false);
  std::vector<at::Tensor> whole;
  for (const auto& parameter : model_.parameters)
    whole.push_back(parameter.tensor.detach().clone());
  return whole;
}

std::vector<at::Tensor> Shards::gather_gradients() const {
  const at::NoGradGuard no_grad;
  if (slices_) return gather(/*gradient=*/true);
  std::vector<at::Tensor> whole;
  for (const auto& parameter : model_.parameters) {
    const auto& gradient = parameter.tensor.grad();
    whole.push_back(gradient.defined() ? gradient.clone() : gradient);
  }
  return whole;
}

void Shards::load(const std::vector<at::Tensor>& parameters) {
  TORCH_CHECK_VALUE(parameters.size() == model_.parameters.size(),
                    "the models differ in parameters");
  const at::NoGradGuard no_grad;
  if (!slices_) {
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      model_.parameters[i].tensor.copy_(parameters[i]);
    }
  } else {
    for (const Slice& slice : *slices_) load(slice, parameters);
  }
  if (communication_) communication_.after_step();
}

void Shards::load(const Slice& slice, const std::vector<at::Tensor>& parameters) {
  for (const Piece& piece : slice.pieces) {
    slice.values.view(-1)
        .narrow(0, piece.at, piece.count)
        .copy_(parameters[piece.parameter].reshape(-1).narrow(0, piece.first, piece.count));
  }
  if (slice.low_precision.defined()) slice.low_precision.copy_(slice.values);
}

}  // namespace assay::training
