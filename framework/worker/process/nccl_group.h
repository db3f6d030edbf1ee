#pragma once

#ifdef USE_C10D_NCCL

#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

namespace assay::worker {

// Tensors that it has allocated lie in NCCL's symmetric windows. Where GPUs reach each other,
// gathers and exchanges of them are work of copy engines, and sums of few multiprocessors that read
// and write the ranks' memory itself. Other tensors go through NCCL's buffers, as do means.
class NcclGroup final : public c10d::ProcessGroupNCCL {
 public:
  using ProcessGroupNCCL::ProcessGroupNCCL;

  bool supportsTensorAlloc(c10::DeviceIndex) override { return true; }
  // [size] of zeros. A collective: every rank calls it at the same point with the same size, and
  // frees what it got in the same order, or windows lie apart. The tensor counts as memory of the
  // caching allocator, and must not outlive the group.
  at::Tensor allocateTensor(long size, at::TensorOptions options) override;

 private:
  void forget(at::cuda::MemPool& pool) noexcept;
};

}  // namespace assay::worker

#endif
