#pragma once

#if ASSAY_WITH_CUDA

#include <ATen/cuda/CUDAEvent.h>

#include <compare>
#include <cstdint>
#include <deque>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>

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

  // Kernels in a row that each spin for so many cycles.
  struct Spins {
    int kernels;
    std::int64_t cycles;
    auto operator<=>(const Spins&) const = default;
  };
  static constexpr Spins nothing{1, 0};
  // The same spinning in one kernel of 80 µs at 2 GHz, and in 16 of 5 µs.
  static constexpr Spins whole{1, 160'000};
  static constexpr Spins parts{16, 10'000};

  // `spinning` makes each of the three above, launched as what will be timed is. What the two
  // events show around nothing is subtracted from every time: the timestamps' own way through the
  // device, launching, and draining. What is left is the time from the first instruction of what is
  // timed to its last. It moves by a tenth of a microsecond and more with the device's state, and
  // so does what lies between kernels in a row: short calls are each followed by one more such
  // kernel, and rows by what tells that. Their events must outlive the timer.
  explicit EventTimer(std::function<Timed(const Spins&)> spinning);

  // Seconds of `calls` calls that `timed` enqueues in a row, without what kernels in a row take
  // from one to the next; 0 where they take no longer.
  double time(const Timed& timed, int calls = 1);

  // Host time of enqueuing one call, from which the length of the spin follows.
  void expect_enqueue_s(double enqueue_s) { enqueue_s_ = enqueue_s; }

  double resolution_s() const { return resolution_s_; }
  nlohmann::json facts() const;

 private:
  struct Shown {
    double s = 0;
    bool gap = false;  // it was still being enqueued when the spin ended
  };

  Shown show(const Timed& timed, double held_s);
  double raw_time(const Timed& timed, int calls);
  double hold_s(int calls) const;
  std::optional<double> parting_s();
  double between_calls_s();
  // Of kernels that are timed beside the calls; nothing where the spin ended too early.
  std::optional<double> shown_beside_s(const Spins& spins, double held_s);
  void measure_rate();
  void measure_overhead();
  void follow_overhead();

  EventPair own_;
  at::cuda::CUDAEvent released_{cudaEventDisableTiming};  // the spin is over
  double cycles_per_s_ = 0;                               // of a spinning kernel
  double enqueue_s_ = 1e-3;                               // until it is known
  double lengthened_ = 1;         // the spin, after ones that ended too early
  double beside_lengthened_ = 1;  // the same
  double longest_hold_s_ = 0;
  std::function<Timed(const Spins&)> spinning_;
  std::deque<double> empty_s_;    // what the newest kernels that do nothing showed
  std::deque<double> parting_s_;  // from the last instruction of one kernel to the next's first
  double overhead_s_ = 0;
  double resolution_s_ = 0;
  long timed_ = 0;
  long gaps_ = 0;  // calls still being enqueued when the spin ended
};

}  // namespace assay::measure

#endif
