#pragma once

#include <c10/core/Device.h>

#include <memory>
#include <vector>

#include "history.h"
#include "observation.h"

namespace assay::memory {

// Bytes in use on the device as it says itself, by all processes; on a CPU this process's resident
// memory. During a capture the last answer.
std::function<Bytes()> device_bytes_of(const c10::Device& device);

// Of the caching allocator now; on a CPU 0.
Level allocator_level(const c10::Device& device);

// While one lives, the caching allocator's trace goes to the observation. On a CPU it does nothing.
class AllocatorTrace {
 public:
  AllocatorTrace(const c10::Device& device, const std::shared_ptr<Observation>& observation);
  ~AllocatorTrace();
  AllocatorTrace(const AllocatorTrace&) = delete;
  AllocatorTrace& operator=(const AllocatorTrace&) = delete;

 private:
  bool on_ = false;
};

// What the caching allocator has from the device, by address, with where each block comes from; on
// a CPU the live allocations.
std::vector<Segment> segments_of(const c10::Device& device, const Observation& observation);

}  // namespace assay::memory
