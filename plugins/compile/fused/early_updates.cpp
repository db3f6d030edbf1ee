#include "early_updates.h"

#include <c10/cuda/CUDAStream.h>

#include <algorithm>

namespace assay::fused {

namespace {

// Of all elements. The last to be finished would not be updated before the backward ends, and are
// faster behind it, on all multiprocessors.
constexpr double most_early = 0.85;
// Few enough elements a launch that an update begins soon, many enough that a launch is worth it.
constexpr std::int64_t launches = 64;

struct Candidate {
  std::size_t update;
  FinishedWeights::Finished weight;
};

// In the order in which the backward is done with them.
std::vector<Candidate> in_order(const OptimizerInputs& in, const FinishedWeights& finished,
                                const CapturePlace& here) {
  std::vector<Candidate> order;
  for (std::size_t i = 0; i < in.parameters.size(); ++i) {
    if (auto weight = finished.of(in.parameters[i], in.gradients[i], here)) {
      order.push_back({i, std::move(*weight)});
    }
  }
  std::sort(order.begin(), order.end(), [](const Candidate& a, const Candidate& b) {
    return a.weight.number < b.weight.number;
  });
  return order;
}

}  // namespace

EarlyUpdates begin_early(const OptimizerInputs& in, const FinishedWeights& finished,
                         const std::function<void(const std::vector<std::size_t>&)>& launch) {
  EarlyUpdates early;
  early.begun.resize(in.parameters.size());
  const cudaStream_t stream = c10::cuda::getCurrentCUDAStream();
  const auto here = CapturePlace::of(stream);
  if (!here) return early;
  std::int64_t all = 0;
  for (const at::Tensor& parameter : in.parameters) all += parameter.numel();
  const auto most = static_cast<std::int64_t>(static_cast<double>(all) * most_early);
  std::vector<std::size_t> batch;
  std::int64_t begun = 0, in_batch = 0;
  for (const Candidate& each : in_order(in, finished, *here)) {
    const std::int64_t elements = in.parameters[each.update].numel();
    if (begun + elements > most) continue;
    begun += elements;
    in_batch += elements;
    batch.push_back(each.update);
    if (in_batch < all / launches) continue;
    CapturePlace place = each.weight.place;
    if (early.end) place.add(*early.end);
    place.resume(stream);
    launch(batch);
    early.end = CapturePlace::of(stream);
    TORCH_CHECK(early.end, "the capture ended within the optimizer");
    for (const std::size_t update : batch) early.begun[update] = true;
    batch.clear();
    in_batch = 0;
  }
  if (early.end) here->resume(stream);
  return early;
}

}  // namespace assay::fused
