#pragma once

#ifdef ASSAY_WITH_CUDA

#include <ATen/cuda/CUDAGraph.h>

#include <functional>

namespace assay::model {

// One call captured in a CUDA graph, to be replayed.
class CapturedCall {
 public:
  // Records what `call` launches on the current stream, which must not be the default one; its
  // memory comes from `pool`. Everything the call needs, workspaces and chosen algorithms, must be
  // there from earlier calls on that stream. After a failure, which is thrown, the stream and the
  // allocator can be used again.
  void capture(at::cuda::MempoolId_t pool, const std::function<void()>& call);

  // On the current stream; returns when the graph is launched.
  void replay() { graph_.replay(); }

 private:
  static void abandon(at::cuda::CUDAGraph& graph, at::cuda::MempoolId_t pool);

  at::cuda::CUDAGraph graph_;
};

}  // namespace assay::model

#endif
