#pragma once

#include <ATen/core/grad_mode.h>
#include <ATen/ops/lerp.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/zeros.h>
#include <assay/communication.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

// What variants share: their collectives, each for any number of ranks.
namespace assay::communication {

constexpr std::int64_t default_bucket_bytes = 25'000'000;

// "bucket_size" in bytes, at least 1.
inline ParameterInfo bucket_size_option(std::int64_t default_bytes, std::string description) {
  ParameterInfo info;
  info.name = "bucket_size";
  info.type = ParameterType::size;
  info.default_value = default_bytes;
  info.description = std::move(description);
  info.unit = "byte";
  info.minimum = 1;
  return info;
}

// Collectives that are under way, and the sums among them that must still become means.
class InFlight {
 public:
  explicit InFlight(Group group) : group_(std::move(group)) {}

  const Group& group() const { return group_; }

  // In place. One rank has the mean already.
  void start_mean(at::Tensor tensor) {
    if (group_.size == 1) return;
    c10d::AllreduceOptions options;
    options.reduceOp = mean_or_sum();
    std::vector<at::Tensor> tensors = {tensor};
    works_.push_back(group_.backend->allreduce(tensors, options));
    to_divide_.push_back(std::move(tensor));
  }
  // In place, without arithmetic of the backend: every rank gets its slice of all the others',
  // averages it and sends it back. What the backend has allocated travels by GPUs' copy engines.
  // values: divisible by the ranks. received: as large; later calls may share it.
  void start_mean_by_copies(at::Tensor values, at::Tensor received) {
    if (group_.size == 1) return;
    std::vector<std::int64_t> even;
    const auto exchanged = group_.backend->alltoall_base(received, values, even, even);
    const c10::OptionalStreamGuard beside(side_stream(values.device()));
    exchanged->wait();
    const std::int64_t length = values.size(0) / group_.size;
    at::Tensor own = values.narrow(0, group_.rank * length, length);
    average(own, received.view({group_.size, length}));
    start_gather(std::move(values), std::move(own));
  }
  // own: this rank's slice of the mean of `whole`, which must outlive finish(). It may be that
  // slice of `whole`.
  void start_mean_slice(at::Tensor own, at::Tensor whole) {
    if (group_.size == 1) {
      if (whole.const_data_ptr() != own.const_data_ptr()) own.copy_(whole);
      return;
    }
    c10d::ReduceScatterOptions options;
    options.reduceOp = mean_or_sum();
    works_.push_back(group_.backend->_reduce_scatter_base(own, whole, options));
    to_divide_.push_back(std::move(own));
  }
  // whole: every rank's `own`, one after the other.
  void start_gather(at::Tensor whole, at::Tensor own) {
    if (group_.size == 1) {
      if (whole.const_data_ptr() != own.const_data_ptr()) whole.copy_(own);
      return;
    }
    works_.push_back(group_.backend->_allgather_base(whole, own));
  }
  void start_broadcast(at::Tensor tensor, int root) {
    if (group_.size == 1) return;
    c10d::BroadcastOptions options;
    options.rootRank = root;
    std::vector<at::Tensor> tensors = {std::move(tensor)};
    works_.push_back(group_.backend->broadcast(tensors, options));
  }

  // On a GPU the current stream waits, not the host.
  void finish() {
    for (const auto& work : std::exchange(works_, {})) {
      if (work) work->wait();
    }
    for (at::Tensor& sum : std::exchange(to_divide_, {})) {
      if (!backend_averages()) sum.div_(group_.size);
    }
  }

 private:
  // A GPU's stream for what waits for other ranks, so that the backward's does not.
  std::optional<c10::Stream> side_stream(at::Device device) {
    if (device.is_cuda() && !side_) {
      const c10::impl::VirtualGuardImpl streams(device.type());
      side_ = streams.getStreamFromGlobalPool(device, /*isHighPriority=*/true);
    }
    return side_;
  }

  // Of rows [ranks, length], each rounded once.
  static void average(at::Tensor& result, const at::Tensor& rows) {
    if (rows.size(0) == 2) {
      at::lerp_out(result, rows[0], rows[1], 0.5);
    } else {
      at::mean_out(result, rows, 0);
    }
  }

  // Gloo only adds.
  bool backend_averages() const { return group_.backend->getBackendName() == "nccl"; }
  c10d::ReduceOp mean_or_sum() const {
    return backend_averages() ? c10d::ReduceOp::AVG : c10d::ReduceOp::SUM;
  }

  Group group_;
  std::vector<c10::intrusive_ptr<c10d::Work>> works_;
  std::vector<at::Tensor> to_divide_;
  std::optional<c10::Stream> side_;
};

// [elements] of zeros, in memory that the backend's collectives read and write themselves if it has
// such. A collective.
inline at::Tensor exchanged_zeros(const Group& group, std::int64_t elements,
                                  const at::TensorOptions& options) {
  const at::Device device = options.device();
  const bool has_own_memory =
      device.is_cuda() && group.backend->supportsTensorAlloc(device.index());
  return has_own_memory ? group.backend->allocateTensor(elements, options)
                        : at::zeros({elements}, options);
}

// Gives every rank rank 0's parameters.
inline void start_from_rank_zero(const TrainedModel& model, const Group& group) {
  const at::NoGradGuard no_grad;
  InFlight broadcasts(group);
  for (const ModelParameter& parameter : model.parameters) {
    broadcasts.start_broadcast(parameter.tensor.detach(), 0);
  }
  broadcasts.finish();
}

// In place, over all ranks.
inline void sum_over(const Group& group, const at::Tensor& value) {
  if (group.size == 1) return;
  std::vector<at::Tensor> values = {value};
  group.backend->allreduce(values)->wait();
}

}  // namespace assay::communication
