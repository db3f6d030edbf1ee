#include "worker/pass/memory_floor.h"

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/text.h"
#include "measure/device.h"
#include "measure/memory.h"

#if ASSAY_WITH_CUDA
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <cuda_runtime_api.h>
#endif

namespace assay::worker {

namespace {

constexpr std::int64_t mebibyte = 1 << 20;
// Smaller leaks do not justify a fresh worker: libraries keep small tensors, such as seeds.
constexpr std::int64_t least_tensor_bytes = mebibyte;
constexpr std::int64_t least_other_bytes = 4 * mebibyte;
// Ordinary heap growth of a call, such as a container or a log.
constexpr std::int64_t least_call_bytes = 64 << 10;
constexpr std::chrono::milliseconds settling_patience(1000);
constexpr std::chrono::milliseconds settling_pause(20);

std::int64_t heap_bytes() {
  const struct mallinfo2 info = ::mallinfo2();
  return static_cast<std::int64_t>(info.uordblks + info.hblkhd);
}

std::int64_t outside_bytes([[maybe_unused]] const c10::Device& device) {
#if ASSAY_WITH_CUDA
  if (!device.is_cuda()) return 0;
  std::size_t free = 0;
  std::size_t total = 0;
  if (cudaMemGetInfo(&free, &total) != cudaSuccess) return 0;
  const auto stats = c10::cuda::CUDACachingAllocator::getDeviceStats(device.index());
  const auto all = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);
  return static_cast<std::int64_t>(total - free) - stats.reserved_bytes[all].current;
#else
  return 0;
#endif
}

// Asks until the answer is yes. Threads of Gloo and NCCL let go of what they have sent a moment
// after it was waited for.
void settled(const std::function<bool()>& yes) {
  const auto until = std::chrono::steady_clock::now() + settling_patience;
  while (!yes() && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(settling_pause);
  }
}

// cuBLAS' workspaces belong to no case.
void clear_workspaces([[maybe_unused]] const c10::Device& device) {
#if ASSAY_WITH_CUDA
  if (device.is_cuda()) {
    at::cuda::clearCublasWorkspaces();
    measure::empty_cache(device);
  }
#endif
}

}  // namespace

HeldMemory held_memory(const c10::Device& device) {
  return {measure::allocated_bytes(device), heap_bytes(), outside_bytes(device)};
}

MemoryFloor::MemoryFloor(const c10::Device& device) : device_(device) {
  clear_workspaces(device);
  floor_ = held_memory(device);
}

void MemoryFloor::observe(const std::function<void()>& call) {
  const HeldMemory before = held_memory(device_);
  call();
  HeldMemory after;
  settled([&] {
    after = held_memory(device_);
    return after.heap - before.heap < least_call_bytes;
  });
  left_by_a_call_.heap = std::max(left_by_a_call_.heap, after.heap - before.heap);
  left_by_a_call_.outside = std::max(left_by_a_call_.outside, after.outside - before.outside);
}

store::MemoryFacts MemoryFloor::settle() const {
  store::MemoryFacts found;
  settled([&] {
    found = compare();
    return found.leak.empty();
  });
  return found;
}

store::MemoryFacts MemoryFloor::compare() const {
  clear_workspaces(device_);
  const HeldMemory after = held_memory(device_);
  store::MemoryFacts found = {floor_.tensors, after.tensors, ""};
  const std::int64_t heap = after.heap - floor_.heap;
  // What Gloo's threads free on the host is not reported, and counts as held; the heap knows
  // better.
  const std::int64_t counted = after.tensors - floor_.tensors;
  const std::int64_t tensors = device_.is_cpu() ? std::min(counted, heap) : counted;
  const std::int64_t outside = after.outside - floor_.outside;
  if (tensors >= least_tensor_bytes) {
    found.leak = fmt::format("{} of tensors on the {}", human_size(tensors),
                             device_.is_cuda() ? "GPU" : "host");
  } else if (left_by_a_call_.heap >= least_call_bytes && heap >= least_other_bytes) {
    found.leak = fmt::format("{} of host memory", human_size(heap));
  } else if (left_by_a_call_.outside > 0 && outside >= least_other_bytes) {
    found.leak = fmt::format("{} of the GPU's memory beside LibTorch's", human_size(outside));
  }
  return found;
}

std::string plugins_in_words(const store::Parameters& parameters) {
  std::vector<std::string> words;
  for (const char* kind :
       {"attention", "norm", "precision", "communication", "compile", "workload"}) {
    const std::string name = store::text_of(parameters, kind);
    if (!name.empty()) words.push_back(fmt::format("{} {}", kind, name));
  }
  return join(words, ", ");
}

}  // namespace assay::worker
