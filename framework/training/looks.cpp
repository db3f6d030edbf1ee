#include "training/looks.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <assay/memory.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace assay::training {

void sum_of_ranks(const Group& group, at::Tensor& tensor) {
  if (group.size == 1) return;
  std::vector<at::Tensor> one = {tensor};
  group.backend->allreduce(one)->wait();
}

void average_gradients(const Group& group, std::vector<NamedTensor>& outputs) {
  for (NamedTensor& output : outputs) {
    if (!output.name.starts_with("grad.")) continue;
    sum_of_ranks(group, output.tensor);
    output.tensor.div_(static_cast<double>(group.size));
  }
}

bool all_ranks(const Group& group, at::Device device, bool own) {
  if (group.size == 1) return own;
  const bool on_device = group.backend->getBackendName() == "nccl";
  at::Tensor lacking = at::full(
      {1}, own ? 0.0 : 1.0, at::TensorOptions(at::kFloat).device(on_device ? device : at::kCPU));
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

Status keep_parameters(const Group& group, at::Device device, const TrainingStep& step,
                       double parameters, std::vector<NamedTensor>& kept,
                       const std::function<void()>& besides) {
  const auto copy = [&] {
    kept = step.seen_parameters();
    for (NamedTensor& parameter : kept) {
      parameter.tensor =
          parameter.tensor.detach().to(at::kCPU, /*non_blocking=*/false, /*copy=*/true);
    }
  };
  Status had = with_memory_on_all_ranks(group, device, [&] {
    need_host_memory(parameters * static_cast<double>(sizeof(double)));
    need_memory(device, static_cast<double>(step.gathering_bytes()));
    if (besides) besides();
    if (!step.gathers()) copy();
  });
  if (had.ok() && step.gathers()) copy();
  return had;
}

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
