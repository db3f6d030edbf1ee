#pragma once

#include <cstdint>

namespace assay {

// Names what the calling thread does while it lives: "attention", "norm", "softmax". Observers file
// operators, kernels and memory under the ranges around them, and a kernel of a backward under the
// range in which autograd recorded its operator. In a build with CUDA it is an NVTX range too.
// Ranges nest and end in the opposite order. Costs some tens of nanoseconds where nobody looks;
// it launches nothing and may lie in a captured step.
class [[nodiscard]] Range {
 public:
  // name: a literal, or text that outlives the range; one line of UTF-8 without ';'.
  explicit Range(const char* name) noexcept;
  // One of several alike, from 0: "block 3".
  Range(const char* name, std::int64_t number) noexcept;
  ~Range();
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;

 private:
  struct Recorded;
  void begin(const char* name) noexcept;

  Recorded* recorded_ = nullptr;  // while a profiler listens
  bool pushed_ = false;           // to NVTX
};

}  // namespace assay
