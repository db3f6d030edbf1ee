#pragma once

#include <c10/core/Device.h>

#include <cstdint>

namespace assay::model {

// While one of these lives, memory that an operation allocates and does not write holds NaN, so
// that a result which depends on it shows. On a CPU LibTorch fills every new tensor. On a GPU the
// allocator's free memory is filled once, up to `bytes`: LibTorch's own switch would make some
// kernels choose another algorithm than the one that is timed.
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
