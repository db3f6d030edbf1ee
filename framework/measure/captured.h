#pragma once

#if ASSAY_WITH_CUDA

#include <ATen/cuda/CUDAGraph.h>

#include <deque>
#include <functional>
#include <limits>

#include "measure/clock.h"
#include "measure/event_timer.h"
#include "model/captured_call.h"

namespace assay::measure {

// One run captured several times, replayed in turn. A graph's place on the device changes the gaps
// between its kernels by up to 0.05 µs.
class CapturedRuns {
 public:
  static constexpr int of_a_short_run = 4;

  void capture(int times, at::cuda::MempoolId_t pool, const std::function<void()>& run);
  EventTimer::Timed next();
  // Launches each graph once, which brings it to the device.
  void bring();
  // The program's outputs are the memory that this graph writes.
  void replay_newest() { runs_.back().graph.replay(); }
  bool newest_was_last() const { return last_ + 1 == runs_.size(); }

 private:
  // The timed part of a replay lies between events inside the graph. Launching varies between
  // graphs by up to 0.3 µs, which events around the replay would include.
  struct Run {
    model::CapturedCall graph;
    EventPair events;
  };

  std::deque<Run> runs_;  // a deque neither copies nor moves them
  std::size_t last_ = 0;
};

// A program's call, captured apart from its `before`.
class Captured {
 public:
  void capture(const Call& call, int warmup_calls, at::cuda::MempoolId_t pool);

  double ahead_s() const { return ahead_s_; }

  model::CapturedCall before;
  CapturedRuns alone;

 private:
  double ahead_s_ = std::numeric_limits<double>::infinity();  // host time of `before`
};

}  // namespace assay::measure

#endif
