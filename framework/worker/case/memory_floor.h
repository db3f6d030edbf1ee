#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "store/records/records.h"

namespace assay::worker {

// Memory that this process holds, in bytes.
struct HeldMemory {
  std::int64_t tensors = 0;  // of LibTorch's allocator, on the case's device
  std::int64_t heap = 0;     // of malloc
  std::int64_t outside = 0;  // on a GPU, by this and other processes, beside LibTorch's own
};
// On a CPU `tensors` counts from the opening of the case's measure::CpuMemoryScope.
HeldMemory held_memory(const c10::Device& device);

// Whether a case gives back the memory it took.
class MemoryFloor {
 public:
  explicit MemoryFloor(const c10::Device& device);

  // What one call of a warmed-up pass leaves behind: `call` is run once.
  void observe(const std::function<void()>& call);

  // After everything of the case has been released.
  // Host memory outside of tensors, and that of a GPU beside LibTorch's, counts as leaked only
  // where a single call left some: libraries keep what they load and warm up.
  store::MemoryFacts settle() const;

 private:
  c10::Device device_;
  HeldMemory floor_;
  HeldMemory left_by_a_call_;
};

// "attention mine, workload attention": the plugins of a case, for a complaint about them.
std::string plugins_in_words(const store::Parameters& parameters);

}  // namespace assay::worker
