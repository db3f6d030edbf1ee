#include "training/looks.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <assay/memory.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace assay::training {

namespace {

void reduce_ranks(const Group& group, at::Tensor& tensor, c10d::ReduceOp::RedOpType operation) {
  if (group.size == 1) return;
  c10d::AllreduceOptions options;
  options.reduceOp = operation;
  std::vector<at::Tensor> one = {tensor};
  group.backend->allreduce(one, options)->wait();
}

}  // namespace

void sum_of_ranks(const Group& group, at::Tensor& tensor) {
  reduce_ranks(group, tensor, c10d::ReduceOp::SUM);
}

void largest_of_ranks(const Group& group, at::Tensor& tensor) {
  reduce_ranks(group, tensor, c10d::ReduceOp::MAX);
}

void average_gradients(const Group& group, std::vector<NamedTensor>& outputs) {
  for (NamedTensor& output : outputs) {
    if (!output.name.starts_with("grad.")) continue;
    sum_of_ranks(group, output.tensor);
    output.tensor.div_(static_cast<double>(group.size));
  }
}

at::Device meeting_device(const Group& group, at::Device device) {
  return group.backend->getBackendName() == "nccl" ? device : at::Device(at::kCPU);
}

bool all_ranks(const Group& group, at::Device device, bool own) {
  if (group.size == 1) return own;
  at::Tensor lacking = at::full(
      {1}, own ? 0.0 : 1.0, at::TensorOptions(at::kFloat).device(meeting_device(group, device)));
  sum_of_ranks(group, lacking);
  return lacking.item<float>() == 0;
}

Status with_memory_on_all_ranks(const Group& group, at::Device device,
                                const std::function<void()>& work) {
  Status own;
  try {
    work();
  } catch (...) {
    own = status_of_current_exception();
    if (own.outcome != Outcome::oom) throw;
  }
  if (all_ranks(group, device, own.ok())) return {};
  return own.ok() ? Status{Outcome::oom, "another rank lacks the memory"} : own;
}

void need_host_memory(double bytes) {
  const auto left = static_cast<double>(available_host_memory());
  if (bytes <= left) return;
  throw PluginFailure({Outcome::oom, fmt::format("a look needs {} of host memory, {} are left",
                                                 human_size(bytes), human_size(left))});
}

void need_memory(at::Device device, double bytes) {
  if (device.is_cpu()) return need_host_memory(bytes);
  // The allocator keeps it, so what follows finds it there.
  if (bytes > 0) {
    at::empty({static_cast<std::int64_t>(bytes)}, at::TensorOptions(at::kByte).device(device));
  }
}

void KeptStart::keep(const Group& group, at::Device device, const TrainingStep& step,
                     double parameters) {
  drop();
  std::unique_ptr<StepStart> kept;
  const auto copy = [&] { kept->parameters = copies_.of(step.seen_parameters(), device); };
  const Status had = with_memory_on_all_ranks(group, device, [&] {
    need_host_memory(parameters * static_cast<double>(sizeof(double)) -
                     static_cast<double>(copies_.host_bytes()));
    need_memory(device, static_cast<double>(step.gathering_bytes()));
    kept = std::make_unique<StepStart>(StepStart{{}, Movement(step.state())});
    if (!step.gathers()) copy();
  });
  if (!had.ok()) {
    why_none_ = had.reason;
    return;
  }
  if (step.gathers()) copy();
  start_ = std::move(kept);
}

std::unique_ptr<StepStart> KeptStart::take() { return std::exchange(start_, nullptr); }

bool overflown(const std::vector<NamedTensor>& outputs) {
  return std::ranges::any_of(outputs, [](const NamedTensor& output) {
    return output.name.starts_with("grad.") && !output.tensor.isfinite().all().item<bool>();
  });
}

Verification left_out(std::string reason) {
  Verification nothing;
  nothing.left_out = std::move(reason);
  return nothing;
}

}  // namespace assay::training
