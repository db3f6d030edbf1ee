#include "training/looks.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <assay/memory.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

#ifdef ASSAY_WITH_CUDA
#include <ATen/ops/from_blob.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <cuda_runtime_api.h>
#endif

namespace assay::training {

namespace {

// Elements of any dtype begin there.
std::int64_t padded(std::size_t bytes) { return static_cast<std::int64_t>((bytes + 15) / 16 * 16); }

std::int64_t bytes_of(const std::vector<NamedTensor>& tensors) {
  std::int64_t bytes = 0;
  for (const NamedTensor& tensor : tensors) bytes += padded(tensor.tensor.nbytes());
  return bytes;
}

// Bytes of a GPU that LibTorch's allocator does not know of, so that the call to come finds there
// what every call finds. Undefined on a CPU, and where the GPU would be left with less than as much
// again.
at::Tensor memory_beside(at::Device device, std::int64_t bytes) {
#ifdef ASSAY_WITH_CUDA
  if (!device.is_cuda() || bytes == 0) return {};
  const c10::cuda::CUDAGuard guard(device);
  std::size_t free = 0, all = 0;
  C10_CUDA_CHECK(cudaMemGetInfo(&free, &all));
  void* memory = nullptr;
  if (free < 2 * static_cast<std::size_t>(bytes) + all / 16) return {};
  if (cudaMalloc(&memory, static_cast<std::size_t>(bytes)) != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    return {};
  }
  const auto release = [](void* taken) { C10_CUDA_CHECK_WARN(cudaFree(taken)); };
  return at::from_blob(memory, {bytes}, release, at::TensorOptions(at::kByte).device(device));
#else
  static_cast<void>(device);
  static_cast<void>(bytes);
  return {};
#endif
}

std::vector<NamedTensor> copied(std::vector<NamedTensor> parameters, at::Device device) {
  const at::Tensor memory = memory_beside(device, bytes_of(parameters));
  std::int64_t used = 0;
  for (NamedTensor& parameter : parameters) {
    const at::Tensor given = parameter.tensor.detach();
    if (!memory.defined()) {
      parameter.tensor = given.to(at::kCPU, /*non_blocking=*/false, /*copy=*/true);
      continue;
    }
    parameter.tensor = memory.narrow(0, used, padded(given.nbytes()))
                           .narrow(0, 0, static_cast<std::int64_t>(given.nbytes()))
                           .view(given.scalar_type())
                           .view(given.sizes());
    parameter.tensor.copy_(given);
    used += padded(given.nbytes());
  }
  return parameters;
}

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

Status keep_start(const Group& group, at::Device device, const TrainingStep& step,
                  double parameters, std::unique_ptr<StepStart>& start) {
  start.reset();
  std::unique_ptr<StepStart> kept;
  const auto copy = [&] { kept->parameters = copied(step.seen_parameters(), device); };
  Status had = with_memory_on_all_ranks(group, device, [&] {
    need_host_memory(parameters * static_cast<double>(sizeof(double)));
    need_memory(device, static_cast<double>(step.gathering_bytes()));
    kept = std::make_unique<StepStart>(StepStart{{}, Movement(step.state())});
    if (!step.gathers()) copy();
  });
  if (!had.ok()) return had;
  if (step.gathers()) copy();
  start = std::move(kept);
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
