#pragma once

#include <c10/core/Device.h>

#include <cstdint>

namespace assay::model {

// While one lives, memory that an operation allocates and does not write holds NaN, which exposes
// results that depend on it. On a CPU LibTorch fills every new tensor. On a GPU the allocator's
// free memory is filled once, up to `bytes`: LibTorch's own switch makes some kernels choose other
// algorithms than the timed ones.
class PoisonedMemory {
 public:
  PoisonedMemory(at::Device device, std::int64_t bytes);
  ~PoisonedMemory();
  PoisonedMemory(const PoisonedMemory&) = delete;
  PoisonedMemory& operator=(const PoisonedMemory&) = delete;

 private:
  bool on_cpu_;
  bool was_deterministic_ = false;
  bool was_warn_only_ = false;
  bool was_filling_ = false;
};

}  // namespace assay::model
