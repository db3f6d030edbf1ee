#pragma once

#include <c10/core/Device.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace assay::measure {

// What is timed: `before` outside the timed region, `run` inside. Both may throw.
struct Call {
  std::function<void()> before;
  std::function<void()> run;
};

// How time is taken. One clock serves one pass.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual std::string name() const = 0;
  // Anything to be done once after warm-up, such as capturing.
  virtual void prepare(const Call&) {}
  // Seconds of `calls` calls in a row, `before` called ahead of each and left out.
  virtual double sample(const Call& call, int calls) = 0;
};

// wall:        synchronise, call, synchronise; host time is included.
// cuda_event:  device time between two events. The stream is kept busy while the host enqueues,
//              so that launch gaps do not count.
// cuda_graph:  the call captured once, replays timed by events.
// "auto" is not a clock. Throws std::invalid_argument for another name, and for a CUDA clock on a
// CPU.
std::unique_ptr<Clock> make_clock(const std::string& name, const c10::Device& device);

struct TimingSettings {
  int warmup = 5;
  int samples = 10;
  int calls_per_sample = 1;
};

struct Timing {
  double first_call_s = 0;  // wall time of the very first call
  std::vector<double> samples_s;
};

// Warm-up calls, then samples. The first call of all is timed on its own; it is the first of the
// warm-up calls, and with a warm-up of 0 it is also part of the first sample, as asked for.
// `start_together` runs before each sample, for ranks to meet.
Timing time_call(Clock& clock, const Call& call, const c10::Device& device,
                 const TimingSettings& settings, const std::function<void()>& start_together);

}  // namespace assay::measure
