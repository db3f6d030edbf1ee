#pragma once

#ifdef ASSAY_WITH_CUDA
#include <nvtx3/nvToolsExt.h>
#endif

namespace assay::measure {

// The NVTX range "samples" of the whole process, by which Nsight Compute is told what to look at.
class SamplesRange {
 public:
#ifdef ASSAY_WITH_CUDA
  SamplesRange() : id_(nvtxRangeStartA("samples")) {}
  ~SamplesRange() { nvtxRangeEnd(id_); }
#else
  SamplesRange() = default;
#endif
  SamplesRange(const SamplesRange&) = delete;
  SamplesRange& operator=(const SamplesRange&) = delete;

 private:
#ifdef ASSAY_WITH_CUDA
  nvtxRangeId_t id_;
#endif
};

}  // namespace assay::measure
