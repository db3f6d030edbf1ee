#include "measure/memory.h"

#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "base/host_memory.h"
#include "measure/device.h"

#if ASSAY_WITH_CUDA
#include <c10/cuda/CUDACachingAllocator.h>
#endif

namespace assay::measure {

namespace {

// LibTorch reports every CPU allocation to the thread's debug info. Autograd's worker threads
// inherit it, Gloo's do not: what they free last is known to be free when its place is used again.
class CpuMemoryCounter final : public c10::MemoryReportingInfoBase {
 public:
  void reportMemoryUsage(void* place, int64_t size, size_t, size_t, c10::Device device) override {
    if (!device.is_cpu()) return;
    const std::int64_t now = allocated_ += size - freed_unseen(place, size);
    std::int64_t peak = peak_;
    while (now > peak && !peak_.compare_exchange_weak(peak, now)) {
    }
  }
  bool memoryProfilingEnabled() const override { return true; }

  std::int64_t allocated() const { return allocated_; }
  std::int64_t peak() const { return peak_; }
  void reset_peak() { peak_ = allocated_.load(); }

 private:
  // Bytes that lay there and were freed without a report.
  std::int64_t freed_unseen(void* place, std::int64_t size) {
    const std::lock_guard lock(mutex_);
    if (size < 0) {
      live_.erase(place);
      return 0;
    }
    const auto [lying, is_new] = live_.try_emplace(place, size);
    return is_new ? 0 : std::exchange(lying->second, size);
  }

  std::mutex mutex_;
  std::unordered_map<void*, std::int64_t> live_;  // bytes by place
  std::atomic<std::int64_t> allocated_ = 0;
  std::atomic<std::int64_t> peak_ = 0;
};

CpuMemoryCounter* current_counter() {
  return dynamic_cast<CpuMemoryCounter*>(
      c10::ThreadLocalDebugInfo::get(c10::DebugInfoKind::PROFILER_STATE));
}

#if ASSAY_WITH_CUDA
using c10::cuda::CUDACachingAllocator::getDeviceStats;
using c10::cuda::CUDACachingAllocator::resetPeakStats;

const c10::CachingAllocator::Stat& cuda_allocated(
    const c10::CachingDeviceAllocator::DeviceStats& stats) {
  return stats
      .allocated_bytes[static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE)];
}
#endif

}  // namespace

CpuMemoryScope::CpuMemoryScope() {
  c10::ThreadLocalDebugInfo::_push(c10::DebugInfoKind::PROFILER_STATE,
                                   std::make_shared<CpuMemoryCounter>());
}

CpuMemoryScope::~CpuMemoryScope() {
  c10::ThreadLocalDebugInfo::_pop(c10::DebugInfoKind::PROFILER_STATE);
}

CpuMemoryPause::CpuMemoryPause() : paused_(c10::ThreadLocalDebugInfo::current()) {
  c10::ThreadLocalDebugInfo::_forceCurrentDebugInfo(nullptr);
}

CpuMemoryPause::~CpuMemoryPause() {
  c10::ThreadLocalDebugInfo::_forceCurrentDebugInfo(std::move(paused_));
}

std::int64_t allocated_bytes(const c10::Device& device) {
#if ASSAY_WITH_CUDA
  if (device.is_cuda()) return cuda_allocated(getDeviceStats(device.index())).current;
#endif
  const CpuMemoryCounter* counter = device.is_cpu() ? current_counter() : nullptr;
  return counter == nullptr ? 0 : counter->allocated();
}

std::int64_t peak_bytes(const c10::Device& device) {
#if ASSAY_WITH_CUDA
  if (device.is_cuda()) return cuda_allocated(getDeviceStats(device.index())).peak;
#endif
  const CpuMemoryCounter* counter = device.is_cpu() ? current_counter() : nullptr;
  return counter == nullptr ? 0 : counter->peak();
}

void reset_peak([[maybe_unused]] const c10::Device& device) {
#if ASSAY_WITH_CUDA
  if (device.is_cuda()) return resetPeakStats(device.index());
#endif
  if (CpuMemoryCounter* counter = current_counter()) counter->reset_peak();
}

std::int64_t available_host_bytes(int ranks) {
  std::int64_t left = std::numeric_limits<std::int64_t>::max();
  if (const auto host = host_memory()) left = (host->available - host->reserve()) / ranks;
  if (const auto limit = host_memory_limit(); limit && *limit) {
    const std::int64_t held = number_behind("/proc/self/status", "VmRSS:").value_or(0) * 1024;
    left = std::min(left, **limit / ranks - held);
  }
  return std::max<std::int64_t>(left, 0);
}

MemoryUse observe_memory(const c10::Device& device, const std::function<void()>& call) {
  synchronize(device);
  MemoryUse use;
  use.before_bytes = allocated_bytes(device);
  reset_peak(device);
  call();
  synchronize(device);
  use.peak_bytes = peak_bytes(device);
  return use;
}

}  // namespace assay::measure
