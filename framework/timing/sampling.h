#pragma once

// timing decides how many calls a reading makes, when there are enough samples and how well their
// median is known. It depends on statistics; a Stopwatch does the measuring. Start here.

#include <cstddef>
#include <functional>
#include <string_view>
#include <vector>

namespace assay::timing {

// Times calls. An exception ends the sampling.
class Stopwatch {
 public:
  virtual ~Stopwatch() = default;
  // Seconds of one warm-up call, the host's part included.
  virtual double warm_up_s() = 0;
  // Called once between warm-up and first sample, also with a warm-up of 0.
  virtual void prepare() {}
  // The next reading makes so many calls. Told ahead of Hooks::before_reading.
  virtual void announce(int /*calls*/) {}
  // Seconds of `calls` calls, without untimed work between them.
  virtual double sample_s(int calls) = 0;
};

struct SamplingSettings {
  int warmup = 5;            // calls
  int samples = 10;          // taken where `target` is 0
  int calls_per_sample = 1;  // one sample is the sum of so many calls
  // Sampling stops once the median is known this well, as a share of it
  // (statistics::relative_half_width_of_median). 0: sampling stops after `samples`.
  double target = 0;
  // The next three need a target.
  int min_samples = 10;
  int max_samples = 1000;
  // For readings and their overhead. No reading but the first begins that would likely exceed it.
  double max_time_s = 10;
  // The clock's step. Half of it widens the median's interval.
  double resolution_s = 0;
  // Samples of which each reading takes the mean. 0: one, and more where that is too short.
  int samples_in_reading = 0;
  // Shorter readings get more calls, unless samples_in_reading says how many; 0: none do. With a
  // target it is >= resolution_s / target.
  double shortest_reading_s = 0;
};

// Each may be empty.
struct Hooks {
  // After warm-up and preparation, before the first reading.
  std::function<void()> warmed_up;
  // Ahead of each reading, outside its time and the time budget: ranks meet and a variant waits for
  // its turn. `reading` counts from 0 and includes discarded readings.
  std::function<void(std::size_t reading)> before_reading;
  // Returns the largest of the ranks' values. Every rank calls it equally often, in the same order.
  std::function<double(double)> worst_of_ranks;
  // A monotonic time in seconds; std::chrono::steady_clock where empty.
  std::function<double()> now_s;
};

enum class StoppedBy { count, target, max_samples, max_time };
std::string_view to_text(StoppedBy reason);

struct Taken {
  double first_call_s = 0;        // the host's part included
  std::vector<double> samples_s;  // seconds of `calls_per_sample` calls each; at least one
  int calls_in_reading = 1;       // a multiple of `calls_per_sample`, divided out of the samples
  bool too_short = false;         // the median reading is below the shortest wanted
  StoppedBy stopped_by = StoppedBy::count;
  // Half of the median's 95 % interval, as a share of it, on the worst rank; infinity: unknown.
  double relative_interval = 0;
};

// Warms up, then samples. The first call is the first warm-up call; with a warm-up of 0 it belongs
// to the first sample, and every reading has `calls_per_sample` calls. Otherwise the first three
// readings settle the calls in a reading: too short ones are repeated with more calls.
// With a target, each growth of the samples by a quarter leads to a look at the interval. A look
// asks for more than 95 % certainty, so that over all looks the median is within the target in 95
// of 100 measurements.
Taken take_samples(Stopwatch& stopwatch, const SamplingSettings& settings, const Hooks& hooks);

}  // namespace assay::timing
