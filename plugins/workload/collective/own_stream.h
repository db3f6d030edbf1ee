#pragma once

#include <c10/core/Device.h>
#include <sched.h>

#include <optional>

#if ASSAY_WITH_CUDA
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#endif

namespace assay::collective {

// A stream that waits for no other, as nccl-tests has one: calls on the default stream look at all
// others. On a CPU nothing.
class OwnStream {
 public:
#if ASSAY_WITH_CUDA
  explicit OwnStream(c10::Device device) {
    if (device.is_cuda()) stream_ = c10::cuda::getStreamFromPool(false, device.index());
  }
  template <class Work>
  void on_it(const Work& work) {
    const c10::cuda::OptionalCUDAStreamGuard current(stream_);
    work();
  }
  // Until all work on it is done. Asks again and again, since a thread that sleeps until then is
  // woken some microseconds late.
  void await() const {
    if (!stream_) return;
    while (!stream_->query()) ::sched_yield();
  }

 private:
  std::optional<c10::cuda::CUDAStream> stream_;
#else
  explicit OwnStream(c10::Device) {}
  template <class Work>
  void on_it(const Work& work) {
    work();
  }
  void await() const {}
#endif
};

}  // namespace assay::collective
