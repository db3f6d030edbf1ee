#pragma once

#if ASSAY_WITH_CUDA

#include <ATen/cuda/CUDAEvent.h>

#include <compare>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>

#include "store/records/case_facts.h"

namespace assay::measure {

// The events around what is timed. Recorded while a graph is captured, they become a part of it.
struct EventPair {
  at::cuda::CUDAEvent start{cudaEventDefault | cudaEventExternal};
  at::cuda::CUDAEvent stop{cudaEventDefault | cudaEventExternal};

  // Records both on the current stream, with what `call` enqueues between them.
  void around(const std::function<void()>& call) {
    start.record();
    call();
    stop.record();
  }
};

// Device time of what is enqueued on the current stream, between two events. The stream spins first
// until the host has enqueued everything, so that the device never waits for the host in between.
// The spinning kernel ends by itself after a time set beforehand: whatever the host does meanwhile,
// loading kernels or waiting for the device, cannot block for longer.
class EventTimer {
 public:
  // `enqueue` enqueues the events as well.
  struct Timed {
    std::function<void()> enqueue;
    const EventPair& events;
  };

  // A batch of kernels that spin: the first for so many cycles, each further one for `more` cycles
  // more.
  struct Spins {
    int kernels;
    std::int64_t cycles;
    std::int64_t more;
    auto operator<=>(const Spins&) const = default;
  };

  // `spinning` makes such spins, launched as what will be timed is. What they show tells what the
  // two events show around a kernel whatever it does, and what a batch of so many shows beyond one
  // as long: both are subtracted. What is left is the time from the first instruction of what is
  // timed to its last. Both move by a tenth of a microsecond and more with the device's state, so
  // that such kernels also follow each short reading. Their events must outlive the timer.
  explicit EventTimer(std::function<Timed(const Spins&)> spinning);

  // Seconds of the batch of `calls` calls that `timed` enqueues, without what the kernels of a
  // batch take from one to the next; 0 where they take no longer.
  double time(const Timed& timed, int calls = 1);

  // Host time of enqueuing one call, from which the length of the spin follows.
  void expect_enqueue_s(double enqueue_s) { enqueue_s_ = enqueue_s; }

  double resolution_s() const { return resolution_s_; }
  store::ClockFacts facts() const;

 private:
  struct Shown {
    double s = 0;
    double enqueue_s = 0;  // host time
    bool gap = false;      // it was still being enqueued when the spin ended
  };

  // Spins that are timed beside the calls.
  struct Beside {
    Spins spins;
    std::size_t at_first;  // readings before the first middle
    double held_s;         // the spin ahead of them
    std::deque<double> shown_s = {};
    double middle_s = 0;  // of the newest
  };
  // As many kernels as a batch has calls, on average as long as one of those, and one kernel that
  // lasts as long as all of them.
  struct Batch {
    Beside parts;
    Beside whole;
    double part_s;
  };

  Shown show(const Timed& timed, double held_s);
  double shown_by_calls_s(const Timed& timed, int calls);
  double hold_s(int calls) const;
  void measure_rate();
  // One more of them; at first as many as it wants. Tried again where the spin ahead ended too
  // early, a few times at most.
  void follow(Beside& beside);
  bool read(Beside& beside);
  void follow_overhead();
  void follow_batch(double shown_s, int calls);
  Batch batch_like(double call_s, int calls) const;

  EventPair own_;
  at::cuda::CUDAEvent released_{cudaEventDisableTiming};  // the spin is over
  double cycles_per_s_ = 0;                               // of a spinning kernel
  double enqueue_s_ = 1e-3;                               // until it is known
  double lengthened_ = 1;  // the spin, after ones that ended too early
  double longest_hold_s_ = 0;
  std::function<Timed(const Spins&)> spinning_;
  Beside short_;
  Beside long_;
  std::map<int, Batch> batches_;  // by the calls in them
  double overhead_s_ = 0;
  double between_calls_s_ = 0;
  double resolution_s_ = 0;
  long timed_ = 0;
  long gaps_ = 0;  // calls still being enqueued when the spin ended
};

}  // namespace assay::measure

#endif
