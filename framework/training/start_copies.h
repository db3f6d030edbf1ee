#pragma once

#include <assay/workload.h>

#include <cstdint>
#include <vector>

namespace assay::training {

// Each is freed on its GPU as soon as it is on the host.
std::vector<NamedTensor> moved_to_host(std::vector<NamedTensor> tensors);

// Copies of the parameters that a step starts from.
class StartCopies {
 public:
  // Of a GPU's parameters in memory of the GPU that LibTorch's allocator does not know of, so that
  // the step finds there what every step finds; where the GPU would be left with less than as much
  // again, on the host, in memory that is kept for the next ones: those before are overwritten
  // then.
  std::vector<NamedTensor> of(std::vector<NamedTensor> parameters, at::Device device);

  // Of the memory that is kept.
  std::int64_t host_bytes() const { return on_host_.defined() ? on_host_.numel() : 0; }

 private:
  at::Tensor on_host_;
};

}  // namespace assay::training
