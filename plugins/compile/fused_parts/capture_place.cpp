#include "compile/fused_parts/capture_place.h"

#include <c10/cuda/CUDAException.h>

namespace assay::fused {

std::optional<CapturePlace> CapturePlace::of(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  CapturePlace place;
  const cudaGraphNode_t* nodes = nullptr;
  const cudaGraphEdgeData* edges = nullptr;
  std::size_t count = 0;
  C10_CUDA_CHECK(
      cudaStreamGetCaptureInfo(stream, &status, &place.capture_, nullptr, &nodes, &edges, &count));
  if (status != cudaStreamCaptureStatusActive) return std::nullopt;
  place.nodes_.assign(nodes, nodes + count);
  if (edges == nullptr) {
    place.edges_.resize(count);  // ordinary ones: all zero
  } else {
    place.edges_.assign(edges, edges + count);
  }
  return place;
}

void CapturePlace::update(cudaStream_t stream, unsigned flags) const {
  auto nodes = nodes_;
  C10_CUDA_CHECK(cudaStreamUpdateCaptureDependencies(stream, nodes.data(), edges_.data(),
                                                     nodes.size(), flags));
}

void CapturePlace::resume(cudaStream_t stream) const {
  update(stream, cudaStreamSetCaptureDependencies);
}

void CapturePlace::join(cudaStream_t stream) const {
  update(stream, cudaStreamAddCaptureDependencies);
}

void CapturePlace::add(const CapturePlace& other) {
  nodes_.insert(nodes_.end(), other.nodes_.begin(), other.nodes_.end());
  edges_.insert(edges_.end(), other.edges_.begin(), other.edges_.end());
}

}  // namespace assay::fused
