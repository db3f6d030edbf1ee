#pragma once

#ifdef ASSAY_WITH_CUDA

#include <ATen/cuda/CUDAGraph.h>

#include <functional>

namespace assay::model {

class CapturedCall {
 public:
  // Records what `call` launches on the current stream, which must not be the default one; memory
  // comes from `pool`, that of cuBLAS's workspaces too. Earlier calls on that stream must have
  // allocated other libraries' workspaces and chosen all algorithms. Throws on failure; stream and
  // allocator remain usable.
  void capture(at::cuda::MempoolId_t pool, const std::function<void()>& call);

  // Replays on the current stream; returns when the graph is launched.
  void replay() { graph_.replay(); }

 private:
  static void abandon(at::cuda::CUDAGraph& graph, at::cuda::MempoolId_t pool);

  at::cuda::CUDAGraph graph_;
};

}  // namespace assay::model

#endif
