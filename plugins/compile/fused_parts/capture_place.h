#pragma once

#include <cuda_runtime_api.h>

#include <optional>
#include <vector>

namespace assay::fused {

// A place in a graph that is being captured: what is launched there waits for these nodes.
class CapturePlace {
 public:
  // Where the stream is. Nothing where it does not capture.
  static std::optional<CapturePlace> of(cudaStream_t stream);

  // The stream goes on here, instead of behind what it captured last.
  void resume(cudaStream_t stream) const;
  // What the stream captures from here on waits for these nodes as well.
  void join(cudaStream_t stream) const;
  // Waits for the other's nodes, too, of the same capture.
  void add(const CapturePlace& other);
  bool is_of_capture(const CapturePlace& other) const { return capture_ == other.capture_; }

 private:
  void update(cudaStream_t stream, unsigned flags) const;

  std::vector<cudaGraphNode_t> nodes_;
  std::vector<cudaGraphEdgeData> edges_;  // of each
  unsigned long long capture_ = 0;        // its number in the process
};

}  // namespace assay::fused
