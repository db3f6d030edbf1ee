#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <functional>
#include <memory>

namespace c10 {
class ThreadLocalDebugInfo;
}

namespace assay::measure {

struct MemoryUse {
  std::int64_t before_bytes = 0;  // allocated when the call began
  std::int64_t peak_bytes = 0;    // most allocated during the call
};

// Runs `call` once and observes LibTorch's allocator: CUDA's statistics, or on a CPU every tensor
// allocation of this thread and of autograd's threads. On a CPU `before_bytes` counts only what was
// allocated while a CpuMemoryScope was open.
MemoryUse observe_memory(const c10::Device& device, const std::function<void()>& call);

// While one lives, this thread's tensor allocations on the CPU are counted.
class CpuMemoryScope {
 public:
  CpuMemoryScope();
  ~CpuMemoryScope();
  CpuMemoryScope(const CpuMemoryScope&) = delete;
  CpuMemoryScope& operator=(const CpuMemoryScope&) = delete;
};

// While one lives, nobody counts this thread's allocations: the place in LibTorch that a
// CpuMemoryScope takes is a profiler's. What was counted before is of no use afterwards.
class CpuMemoryPause {
 public:
  CpuMemoryPause();
  ~CpuMemoryPause();
  CpuMemoryPause(const CpuMemoryPause&) = delete;
  CpuMemoryPause& operator=(const CpuMemoryPause&) = delete;

 private:
  std::shared_ptr<c10::ThreadLocalDebugInfo> paused_;
};

// Bytes allocated on the device now.
std::int64_t allocated_bytes(const c10::Device& device);
// Most bytes allocated since reset_peak(), or observe_memory()'s beginning.
std::int64_t peak_bytes(const c10::Device& device);
void reset_peak(const c10::Device& device);

// Bytes of the host that one of so many ranks on it may still take: its share of what the machine,
// or the process' control group, and the case's limit leave.
std::int64_t available_host_bytes(int ranks);

}  // namespace assay::measure
