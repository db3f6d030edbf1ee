#pragma once

#if ASSAY_WITH_CUDA

#include <ATen/cuda/CUDAGraph.h>

#include <deque>
#include <functional>
#include <limits>
#include <map>

#include "measure/clock.h"
#include "measure/event_timer.h"
#include "model/captured_call.h"

namespace assay::measure {

// One run captured several times, replayed in turn: where its graph lies on the device changes what
// its kernels take from one to the next, by up to 0.05 µs.
class CapturedRuns {
 public:
  static constexpr int of_a_short_run = 4;

  void capture(int times, at::cuda::MempoolId_t pool, const std::function<void()>& run);
  EventTimer::Timed next();
  // The first launch of a graph also brings it to the device.
  void bring();
  // What a program holds as its outputs is the memory that this writes.
  void replay_newest() { runs_.back().graph.replay(); }
  bool newest_was_last() const { return last_ + 1 == runs_.size(); }

 private:
  // What is timed of a replay: between events that are a part of the graph. How long launching it
  // takes differs from graph to graph by up to 0.3 µs, which would be in a time taken around it.
  struct Run {
    model::CapturedCall graph;
    EventPair events;
  };

  std::deque<Run> runs_;  // which neither copies nor moves them
  std::size_t last_ = 0;
};

// A program's call, captured apart from what goes ahead of it, and batches of it.
class Captured {
 public:
  void capture(const Call& call, int warmup_calls, at::cuda::MempoolId_t pool);

  bool has_batch(int calls) const { return batches_.contains(calls); }
  void bring_batch(int calls) { batches_.at(calls).bring(); }
  // Of several calls each has its `before` ahead of it, which launches nothing: what it undoes of
  // the call before on the host must be undone.
  void capture_batch(const Call& call, int calls, at::cuda::MempoolId_t pool);
  EventTimer::Timed batch(int calls);

  void replay_newest() { newest_->replay_newest(); }
  // Whether the program holds what the batch timed last has left.
  bool holds_last() const { return last_ == newest_ && newest_->newest_was_last(); }
  double ahead_s() const { return ahead_s_; }

  model::CapturedCall before;

 private:
  std::map<int, CapturedRuns> batches_;  // by the calls in them
  CapturedRuns* newest_ = nullptr;
  const CapturedRuns* last_ = nullptr;
  double ahead_s_ = std::numeric_limits<double>::infinity();  // host time of `before`
};

}  // namespace assay::measure

#endif
