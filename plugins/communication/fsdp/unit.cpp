#include "unit.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>
#include <utility>

#include "communication/parts/flat_parameters.h"

namespace assay::communication {

namespace {

void wait_for(std::vector<c10::intrusive_ptr<c10d::Work>>& works) {
  for (const auto& work : std::exchange(works, {})) {
    if (work) work->wait();
  }
}

}  // namespace

Unit::Unit(Group group, int first_block, int last_block)
    : group_(std::move(group)), first_block_(first_block), last_block_(last_block) {}

void Unit::add(const TrainedModel& model, std::vector<std::size_t> alike,
               at::ScalarType gradients) {
  const at::NoGradGuard no_grad;
  const auto& first = model.parameters[alike.front()];
  const auto options = first.tensor.options().requires_grad(false);
  Shard shard;
  shard.name = model.blocks[static_cast<std::size_t>(first_block_)].name + "." +
               std::to_string(shards_.size());
  shard.trained = first.tensor.requires_grad();
  shard.parameters = std::move(alike);
  for (const std::size_t i : shard.parameters) shard.tensors.push_back(model.parameters[i].tensor);
  const auto sizes = sizes_of(shard.tensors);
  {
    const FlatBuffer values(sizes, group_.size, options);
    for (std::size_t k = 0; k < shard.tensors.size(); ++k) {
      values.part(k).copy_(shard.tensors[k]);
    }
    shard.own = values.slice(group_.rank).clone();
    // The parameters' own memory goes before the next buffer comes.
    shard.whole = FlatBuffer(sizes, group_.size, options.dtype(first.compute));
  }
  for (std::size_t k = 0; k < shard.tensors.size(); ++k) {
    shard.tensors[k].set_data(shard.whole.part(k));
  }
  shard.whole.release();
  if (shard.trained) {
    shard.gradients = FlatBuffer(sizes, group_.size, options.dtype(gradients));
    shard.gradients.release();
  }
  shards_.push_back(std::move(shard));
}

bool Unit::is_trained() const {
  return std::any_of(shards_.begin(), shards_.end(),
                     [](const Shard& shard) { return shard.trained; });
}

double Unit::gathered_bytes() const {
  double bytes = 0;
  for (const Shard& shard : shards_) {
    const at::Tensor& whole = shard.whole.values();
    bytes += static_cast<double>(whole.numel() * whole.element_size());
  }
  return bytes;
}

// Memory comes from the computation's stream, which has reached the point where it may be written
// when the other stream begins.
void Unit::start_gather(const std::optional<c10::Stream>& stream) {
  if (is_gathered_ || shards_.empty()) return;
  is_gathered_ = true;
  for (Shard& shard : shards_) shard.whole.restore();
  if (!stream) {
    prepare_and_gather();
    return;
  }
  const c10::impl::VirtualGuardImpl device(stream->device_type());
  if (!reached_) reached_.emplace(stream->device_type());
  reached_->record(device.getStream(stream->device()));
  reached_->block(*stream);
  const c10::StreamGuard guard(*stream);
  prepare_and_gather();
}

// In place: this rank's slice lies in the whole already, in the dtype of the computation.
void Unit::prepare_and_gather() {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> wholes, slices;
  for (const Shard& shard : shards_) {
    slices.push_back(shard.whole.slice(group_.rank));
    slices.back().copy_(shard.own);
    wholes.push_back(shard.whole.values());
  }
  if (group_.size == 1) return;
  if (on_nccl() && wholes.size() > 1) {
    gathers_.push_back(group_.backend->allgather_into_tensor_coalesced(wholes, slices));
    return;
  }
  for (std::size_t i = 0; i < wholes.size(); ++i) {
    gathers_.push_back(group_.backend->_allgather_base(wholes[i], slices[i]));
  }
}

void Unit::finish_gather() { wait_for(gathers_); }

void Unit::release() {
  if (!is_gathered_) return;
  finish_gather();
  is_gathered_ = false;
  for (Shard& shard : shards_) shard.whole.release();
}

bool Unit::start_reduce() {
  if (is_reduced_ || !is_trained()) return false;
  is_reduced_ = is_reducing_ = true;
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> own, whole;
  for (Shard& shard : shards_) {
    if (!shard.trained) continue;
    shard.gradients.restore();
    shard.gradients.clear_padding();
    move_gradients(shard.tensors, parts_of(shard.gradients));
    whole.push_back(shard.gradients.values());
  }
  // In the memory that the moved gradients leave.
  for (Shard& shard : shards_) {
    if (!shard.trained) continue;
    own.push_back(
        at::empty({shard.gradients.slice_elements()}, shard.gradients.values().options()));
    shard.own.mutable_grad() = own.back();
  }
  reduce(own, whole);
  return true;
}

void Unit::reduce(const std::vector<at::Tensor>& own, const std::vector<at::Tensor>& whole) {
  if (group_.size == 1) {
    for (std::size_t i = 0; i < own.size(); ++i) own[i].copy_(whole[i]);
    return;
  }
  c10d::ReduceScatterOptions options;
  options.reduceOp = on_nccl() ? c10d::ReduceOp::AVG : c10d::ReduceOp::SUM;
  std::vector<at::Tensor> outputs = own;
  std::vector<at::Tensor> inputs = whole;
  if (on_nccl() && own.size() > 1) {
    reductions_.push_back(
        group_.backend->reduce_scatter_tensor_coalesced(outputs, inputs, options));
    return;
  }
  for (std::size_t i = 0; i < own.size(); ++i) {
    reductions_.push_back(group_.backend->_reduce_scatter_base(outputs[i], inputs[i], options));
  }
}

void Unit::finish_reduce() {
  if (!std::exchange(is_reducing_, false)) return;
  const at::NoGradGuard no_grad;
  wait_for(reductions_);
  for (Shard& shard : shards_) {
    if (!shard.trained) continue;
    if (group_.size > 1 && !on_nccl()) shard.own.mutable_grad().div_(group_.size);
    shard.gradients.release();
  }
}

}  // namespace assay::communication
