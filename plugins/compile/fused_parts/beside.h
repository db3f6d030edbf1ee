#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAStream.h>

#include <functional>
#include <optional>
#include <vector>

namespace assay::fused {

// Work of a backward that nothing in it waits for, the products of weights' gradients, on a stream
// of its own: it fills multiprocessors that the products of a small model and the kernels between
// them leave. One piece at a time; all has joined when autograd's backward ends.
class Beside {
 public:
  // Runs `work`, which launches on the current stream, beside what follows; `touched` is all memory
  // that it reads or writes. Called by a node of autograd's backward, whose end joins it.
  void run(const std::function<void()>& work, std::vector<at::Tensor> touched);
  // Whatever is launched from now on comes behind what was run.
  void join();

 private:
  std::optional<c10::cuda::CUDAStream> stream_;
  at::cuda::CUDAEvent ready_, finished_;
  std::vector<at::Tensor> touched_;  // until joined
};

}  // namespace assay::fused
