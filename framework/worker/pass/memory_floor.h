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
  std::int64_t tensors = 0;  // LibTorch's, on the case's device
  std::int64_t heap = 0;     // malloc's
  std::int64_t outside = 0;  // on a GPU, of all processes, beside LibTorch's
};
// On a CPU `tensors` counts from the opening of the case's measure::CpuMemoryScope.
HeldMemory held_memory(const c10::Device& device);

// Checks that a case returns the memory it took.
class MemoryFloor {
 public:
  explicit MemoryFloor(const c10::Device& device);

  // Runs `call`, one call of a warmed-up pass, and records what it leaves allocated once other
  // threads have let go of theirs, for which they have a second.
  void observe(const std::function<void()>& call);

  // Call after the case is released. Host memory outside of tensors and GPU memory outside of
  // LibTorch count as leaked only where a single call left some: libraries keep what they load and
  // warm up. What other threads still hold has a second to come back.
  store::MemoryFacts settle() const;

 private:
  store::MemoryFacts compare() const;

  c10::Device device_;
  HeldMemory floor_;
  HeldMemory left_by_a_call_;
};

// "attention mine, workload attention": the plugins of a case, for messages.
std::string plugins_in_words(const store::Parameters& parameters);

}  // namespace assay::worker
