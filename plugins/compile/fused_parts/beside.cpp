#include "compile/fused_parts/beside.h"

#include <c10/cuda/CUDAGuard.h>
#include <torch/csrc/autograd/engine.h>

namespace assay::fused {

void Beside::run(const std::function<void()>& work, std::vector<at::Tensor> touched) {
  join();
  if (!stream_) stream_ = c10::cuda::getStreamFromPool();
  ready_.record();
  ready_.block(*stream_);
  touched_ = std::move(touched);
  {
    const c10::cuda::CUDAStreamGuard beside(*stream_);
    work();
    finished_.record();
  }
  torch::autograd::Engine::get_default_engine().queue_callback([this] { join(); });
}

void Beside::join() {
  if (touched_.empty()) return;
  finished_.block(c10::cuda::getCurrentCUDAStream());
  touched_.clear();
}

}  // namespace assay::fused
