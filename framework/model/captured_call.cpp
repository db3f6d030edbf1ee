#include "model/captured_call.h"

#ifdef ASSAY_WITH_CUDA

#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>

namespace assay::model {

namespace {

// LibTorch keeps a workspace of cuBLAS for each stream and thread until it is told not to, and each
// capture has another stream. Those of earlier calls are freed; a graph's own come from its pool.
class OwnWorkspaces {
 public:
  OwnWorkspaces() { at::cuda::clearCublasWorkspaces(); }
  ~OwnWorkspaces() { at::cuda::clearCublasWorkspaces(); }
  OwnWorkspaces(const OwnWorkspaces&) = delete;
  OwnWorkspaces& operator=(const OwnWorkspaces&) = delete;
};

struct SilentWarnings final : c10::WarningHandler {
  void process(const c10::Warning&) override {}
};

}  // namespace

void CapturedCall::capture(at::cuda::MempoolId_t pool, const std::function<void()>& call) {
  const OwnWorkspaces own;
  // Other threads may use CUDA meanwhile.
  graph_.capture_begin(pool, cudaStreamCaptureModeThreadLocal);
  try {
    call();
    // LibTorch warns about an empty graph, which a part that launches nothing gives.
    SilentWarnings silent;
    const c10::WarningUtils::WarningHandlerGuard guard(&silent);
    graph_.capture_end();
  } catch (...) {
    abandon(graph_, pool);
    throw;
  }
}

// The stream must leave capture mode and the allocator its private pool. CUDAGraph does both unless
// CUDA itself failed; the pool is then released here.
void CapturedCall::abandon(at::cuda::CUDAGraph& graph, at::cuda::MempoolId_t pool) {
  try {
    graph.capture_end();
  } catch (...) {
    try {
      c10::cuda::CUDACachingAllocator::endAllocateToPool(c10::cuda::current_device(), pool);
    } catch (...) {
    }
  }
}

}  // namespace assay::model

#endif
