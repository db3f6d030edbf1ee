#include "measure/captured.h"

#if ASSAY_WITH_CUDA

#include <c10/cuda/CUDAFunctions.h>

#include <algorithm>

#include "measure/host_time.h"

namespace assay::measure {

void CapturedRuns::capture(int times, at::cuda::MempoolId_t pool,
                           const std::function<void()>& run) {
  for (int i = 0; i < times; ++i) {
    Run& captured = runs_.emplace_back();
    captured.graph.capture(pool, [&] { captured.events.around(run); });
  }
}

EventTimer::Timed CapturedRuns::next() {
  last_ = (last_ + 1) % runs_.size();
  Run& run = runs_[last_];
  return {[&run] { run.graph.replay(); }, run.events};
}

void CapturedRuns::bring() {
  for (Run& run : runs_) run.graph.replay();
  c10::cuda::device_synchronize();
}

void Captured::capture(const Call& call, int warmup_calls, at::cuda::MempoolId_t pool) {
  for (int i = 0; i < warmup_calls; ++i) {
    const double begin_s = host_now_s();
    call.before();
    ahead_s_ = std::min(ahead_s_, host_now_s() - begin_s);
    call.run();
  }
  // Frees the last run's memory before the graphs take theirs.
  call.before();
  c10::cuda::device_synchronize();
  before.capture(pool, call.before);
  alone.capture(1, pool, call.run);
}

}  // namespace assay::measure

#endif
