#include "compile/fused_parts/finished_weights.h"

#include <ATen/cuda/CUDAContext.h>

#include <algorithm>

namespace assay::fused {

void FinishedWeights::begin(bool captured) {
  captured_ = captured && multiprocessors_ > 0;
  expects_ = false;
  entries_.clear();
}

int FinishedWeights::left_to_products() const {
  if (!expects_) return 0;
  const int all = at::cuda::getCurrentDeviceProperties()->multiProcessorCount;
  return std::max(all - multiprocessors_, 1);
}

void FinishedWeights::add(const at::Tensor& weight, const at::Tensor& gradient) {
  if (!expects_ || !gradient.defined()) return;
  const auto place = CapturePlace::of(at::cuda::getCurrentCUDAStream());
  if (!place) return;
  const auto number = static_cast<std::int64_t>(entries_.size());
  const auto [at, is_new] = entries_.try_emplace(weight.unsafeGetTensorImpl(),
                                                 Entry{.finished = {number, *place},
                                                       .gradient = gradient.const_data_ptr(),
                                                       .version = gradient._version()});
  at->second.is_single = is_new;
}

std::optional<FinishedWeights::Finished> FinishedWeights::of(const at::Tensor& weight,
                                                             const at::Tensor& gradient,
                                                             const CapturePlace& here) const {
  const auto found = entries_.find(weight.unsafeGetTensorImpl());
  if (found == entries_.end()) return std::nullopt;
  const Entry& entry = found->second;
  const bool same = entry.is_single && entry.finished.place.is_of_capture(here) &&
                    entry.gradient == gradient.const_data_ptr() &&
                    entry.version == gradient._version();
  return same ? std::optional(entry.finished) : std::nullopt;
}

}  // namespace assay::fused
