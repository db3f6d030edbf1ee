#pragma once

#if ASSAY_WITH_CUDA

#include <ATen/core/Tensor.h>
#include <ATen/cuda/CUDAEvent.h>

#include <compare>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>

#include "store/records/case_facts.h"

namespace assay::measure {

// The events around timed work. Recorded during a capture, they become part of the graph.
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

// Device time between two events on the current stream. A kernel fills the device until the host
// has enqueued everything: the device never waits for the host, and runs no other stream's kernels
// meanwhile. It ends after a preset time: host work that waits for the device cannot deadlock.
class EventTimer {
 public:
  // `enqueue` includes the events.
  struct Timed {
    std::function<void()> enqueue;
    const EventPair& events;
  };

  // A batch of spinning kernels: the first spins for `cycles`, each further one for `more` cycles
  // more than the last.
  struct Spins {
    int kernels;
    std::int64_t cycles;
    std::int64_t more;
    auto operator<=>(const Spins&) const = default;
  };

  // `spinning` makes spins that are launched like the timed work; their events must outlive the
  // timer. Two corrections from them are subtracted: what the events show around any kernel, and
  // what a batch shows beyond a single kernel of its length. The result is the time from the first
  // instruction to the last. Both drift by 0.1 µs and more with the device's state, so spins also
  // follow each short reading.
  explicit EventTimer(std::function<Timed(const Spins&)> spinning);

  // Seconds of the `calls` calls that `timed` enqueues, without the gaps between a batch's kernels;
  // at least 0.
  double time(const Timed& timed, int calls = 1);

  // Sets the host time of enqueuing one call, which determines the spin's length.
  void expect_enqueue_s(double enqueue_s) { enqueue_s_ = enqueue_s; }

  double resolution_s() const { return resolution_s_; }
  store::ClockFacts facts() const;

 private:
  struct Shown {
    double s = 0;
    double enqueue_s = 0;  // host time
    bool gap = false;      // the spin ended during enqueuing
  };

  // Spins that are timed beside the calls.
  struct Beside {
    Spins spins;
    std::size_t at_first;  // readings before the first middle
    double held_s;         // length of the spin ahead of them
    std::deque<double> shown_s = {};
    double middle_s = 0;  // of the newest
  };
  // `parts`: as many kernels as a batch has calls, of the same average length. `whole`: one kernel
  // of their total length.
  struct Batch {
    Beside parts;
    Beside whole;
    double part_s;
  };

  void hold(double held_s);
  Shown show(const Timed& timed, double held_s);
  double shown_by_calls_s(const Timed& timed, int calls);
  double hold_s(int calls) const;
  void measure_rate();
  // Adds one reading, at first `at_first` of them. Retries a few times where the spin ended too
  // early.
  void follow(Beside& beside);
  bool read(Beside& beside);
  void follow_overhead();
  void follow_batch(double shown_s, int calls);
  Batch batch_like(double call_s, int calls) const;

  EventPair own_;
  at::cuda::CUDAEvent released_{cudaEventDisableTiming};  // the spin is over
  int hold_blocks_ = 0;                                   // that fill the device; 0: none do
  int holds_ = 0;
  double cycles_per_s_ = 0;  // of a spinning kernel
  double enqueue_s_ = 1e-3;  // until known
  double lengthened_ = 1;    // factor of the spin, grows when one ends too early
  double longest_hold_s_ = 0;
  std::function<Timed(const Spins&)> spinning_;
  Beside short_;
  Beside long_;
  at::Tensor begun_;              // in memory that the device writes: the newest hold that fills it
  std::map<int, Batch> batches_;  // by their number of calls
  double overhead_s_ = 0;
  double between_calls_s_ = 0;
  double resolution_s_ = 0;
  long timed_ = 0;
  long gaps_ = 0;  // enqueued too late for their spin
};

}  // namespace assay::measure

#endif
