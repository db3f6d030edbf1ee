#include "compile/fused_parts/finished_weights.h"

#include <ATen/cuda/CUDAContext.h>

#include <algorithm>

namespace assay::fused {

void FinishedWeights::begin(bool may_begin_early) {
  may_begin_ = may_begin_early && multiprocessors_ > 0;
  expects_ = false;
  entries_.clear();
}

void FinishedWeights::expect_updates(const std::vector<at::Tensor>& parameters) {
  expects_ = std::any_of(parameters.begin(), parameters.end(), [&](const at::Tensor& parameter) {
    return entries_.contains(parameter.unsafeGetTensorImpl());
  });
}

int FinishedWeights::left_to_products() const {
  if (!expects_) return 0;
  const int all = at::cuda::getCurrentDeviceProperties()->multiProcessorCount;
  return std::max(all - multiprocessors_, 1);
}

void FinishedWeights::add(const at::Tensor& weight, const at::Tensor& gradient) {
  if (!may_begin_ || !gradient.defined()) return;
  Entry entry;
  const auto place = CapturePlace::of(at::cuda::getCurrentCUDAStream());
  if (place && expects_) {
    entry.finished = {static_cast<std::int64_t>(entries_.size()), *place};
    entry.gradient = gradient.storage();
    entry.address = gradient.const_data_ptr();
    entry.version = gradient._version();
  }
  const auto [at, is_new] = entries_.try_emplace(weight.unsafeGetTensorImpl(), entry);
  if (!is_new) at->second.is_last = false;
}

void FinishedWeights::use(const at::Tensor& weight) {
  if (!may_begin_) return;
  if (const auto found = entries_.find(weight.unsafeGetTensorImpl()); found != entries_.end()) {
    found->second.is_last = false;
  }
}

std::optional<FinishedWeights::Finished> FinishedWeights::of(const at::Tensor& weight,
                                                             const at::Tensor& gradient,
                                                             const CapturePlace& here) const {
  const auto found = entries_.find(weight.unsafeGetTensorImpl());
  if (found == entries_.end()) return std::nullopt;
  const Entry& entry = found->second;
  const bool same = entry.finished && entry.is_last && entry.finished->place.is_of_capture(here) &&
                    entry.address == gradient.const_data_ptr() &&
                    entry.version == gradient._version();
  return same ? entry.finished : std::nullopt;
}

}  // namespace assay::fused
