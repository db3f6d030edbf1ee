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

// One call: untimed `before`, timed `run`. Both may throw.
struct Call {
  std::function<void()> before;
  std::function<void()> run;
  // So many calls with nothing in between, to their end. Empty: the clock makes them one by one.
  std::function<void(int calls)> in_a_row = {};
  // Untimed, ahead of each timed call, or ahead of calls that share a reading: give the call inputs
  // that no earlier one had. The first ahead of `before`, the second behind it. May only enqueue;
  // each may be empty. call() and prepare() leave the inputs as they are. A row has such a call
  // once: another call would find what this one has had.
  std::function<void()> renew_ahead = {};
  std::function<void()> renew = {};
};

// The same call of one or more programs, in rotation, and the cache flush ahead of each.
struct TimedCalls {
  std::vector<Call> calls;      // at least one
  std::function<void()> flush;  // after `before`, untimed; may only enqueue; may be empty
  // Whether one reading may time a row of calls. False where other ranks take part in the calls:
  // ranks may decide differently. False too where calls take turns to find a cold cache.
  bool may_be_batched = true;
  // Enqueues what lets all ranks begin at once, directly ahead of a reading between events; may be
  // empty. `wall` takes its ranks as they come.
  std::function<void()> align = {};
  // Waits for all ranks, directly ahead of a reading by `wall`: what goes before them may have
  // taken each rank another time. May be empty.
  std::function<void()> meet = {};
  // The largest of all ranks' values: how often a call is repeated must not differ between ranks
  // that take part in it. Empty where there is one rank.
  std::function<double(double)> worst_of_ranks = {};

  bool nothing_between() const { return may_be_batched && !flush; }
};

// Times one pass, on one thread, with the device current.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual std::string name() const = 0;
  virtual double resolution_s() const = 0;
  // Least reading that keeps the clock's error small: 0.1 % for `wall`, 0.15 % for the others. Time
  // shorter calls in batches.
  virtual double shortest_reading_s() const = 0;
  // Whether short calls may come in rows, unless something goes before each.
  virtual bool makes_rows() const = 0;
  // Adds programs, so that rows of calls may be longer. Ahead of prepare().
  virtual void add(std::vector<Call> calls) = 0;
  // Makes the calls a clock needs before the first sample: measures the enqueue time, captures, and
  // calls each further program once. Skipped where no call may be a warm-up call. Throws
  // Unsupported for calls that this clock cannot time.
  virtual void prepare() {}
  // Seconds of `calls` calls, one after the other, without `before`, `flush` and the clock's own
  // overhead. Each call is timed on its own, except short calls known to have nothing ahead of
  // them: those are timed in rows (`wall`: on a CPU only), each from the first program on.
  virtual double sample(int calls) = 0;
  // Calls a program once, untimed, launched as the timed calls are. Its work may still be running
  // on the device on return.
  virtual void call(std::size_t program) = 0;
  // Call after the last sample. The program called last then holds the outputs of a timed call or
  // of one launched like it.
  virtual void settle() {}
  // Whether the programs called last hold the outputs of those timed calls, without settle().
  virtual bool holds_last() const { return true; }
  // The program whose call was timed last, and how many programs were called since the reading's
  // last row began: those up to last().
  virtual std::size_t last() const = 0;
  virtual std::size_t last_row() const = 0;
  // Setup and events of the clock: docs/measuring.md.
  virtual store::ClockFacts facts() const = 0;
};

// wall:        monotonic time from before the call until the device has finished, the host's part
//              included.
// cuda_event:  device time between two events on the current stream, which is kept busy while the
//              host enqueues the call: launch gaps do not count.
// cuda_graph:  the call captured once between two events, timed as it is replayed. What `before`
//              launches is captured too, and replayed ahead of each call.
// Throws std::invalid_argument for other names, "auto" included, and for a CUDA clock on a CPU.
std::unique_ptr<Clock> make_clock(const std::string& name, const c10::Device& device,
                                  TimedCalls timed);

}  // namespace assay::measure
