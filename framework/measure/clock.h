#pragma once

// measure takes times and memory on CPU and GPU: clocks, caches, the device. It depends on model.
// Start here.

#include <c10/core/Device.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "store/records/case_facts.h"

namespace assay::measure {

// One call: `before` outside the timed region, `run` inside. Both may throw.
struct Call {
  std::function<void()> before;
  std::function<void()> run;
};

// What a clock times: the same call of one or several programs, which take turns, and what is done
// to the caches ahead of each.
struct TimedCalls {
  std::vector<Call> calls;      // at least one
  std::function<void()> flush;  // after `before`, untimed; may only enqueue; may be empty
  // Whether several calls may be timed as a batch, by one reading. Not where other ranks take part
  // in them, which may find otherwise.
  bool may_be_batched = true;

  bool nothing_between() const { return may_be_batched && calls.size() == 1 && !flush; }
};

// How time is taken. One clock serves one pass, on one thread, with the device current.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual std::string name() const = 0;
  // Seconds: the smallest difference that two readings of it show.
  virtual double resolution_s() const = 0;
  // What a reading must come to for what is wrong with it to be small: 0.1 % of it for `wall`,
  // 0.15 % for the others. Shorter calls are to be timed in batches.
  virtual double shortest_reading_s() const = 0;
  // Whatever wants calls ahead of the first sample: finding out how long one takes to enqueue,
  // capturing, and a first call of each further program. Left out where no call may be a warm-up
  // call. Throws Unsupported for calls that this clock cannot time.
  virtual void prepare() {}
  // Seconds that `calls` calls take one after the other: `before` and `flush` run ahead of each and
  // are left out, as is what the clock shows beyond a call. Each is timed on its own, but for
  // short calls of which earlier ones have shown that nothing goes on ahead of them: those are
  // timed in batches, by `wall` on a CPU alone.
  virtual double sample(int calls) = 0;
  // One call of a program, untimed, launched as the timed ones are. It may still be running on the
  // device on return.
  virtual void call(std::size_t program) = 0;
  // Once no more samples are wanted: what the program called last holds as its outputs is what one
  // of its timed calls left, or one launched as they were.
  virtual void settle() {}
  // The program whose call was timed last.
  virtual std::size_t last() const = 0;
  // How it was set up and what happened meanwhile: docs/measuring.md.
  virtual store::ClockFacts facts() const = 0;
};

// wall:        monotonic time from before the call until the device has finished; the host's part
//              is included.
// cuda_event:  device time between two events on the current stream, which is kept busy while the
//              host enqueues the call, so that launch gaps do not count.
// cuda_graph:  the call captured once between two events, which its replays record; otherwise as
//              cuda_event. What `before` launches is captured too, and replayed ahead of each.
// "auto" is not a clock. Throws std::invalid_argument for another name, and for a CUDA clock on a
// CPU.
std::unique_ptr<Clock> make_clock(const std::string& name, const c10::Device& device,
                                  TimedCalls timed);

}  // namespace assay::measure
