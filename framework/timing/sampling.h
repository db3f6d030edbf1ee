#pragma once

// timing decides how samples are taken: how many calls are one sample, when there are enough, how
// well their median is known. It depends on base and measures nothing itself. Start here.

#include <cstddef>
#include <functional>
#include <string_view>
#include <vector>

namespace assay::timing {

// What takes the time of calls. Its functions may throw; that ends the sampling.
class Stopwatch {
 public:
  virtual ~Stopwatch() = default;
  // Seconds of one warm-up call, the host's part included.
  virtual double warm_up_s() = 0;
  // Once, between the warm-up and the first sample; also without a warm-up.
  virtual void prepare() {}
  // Seconds of `calls` calls, without what is done between them untimed.
  virtual double sample_s(int calls) = 0;
};

struct SamplingSettings {
  int warmup = 5;            // calls
  int samples = 10;          // taken where `target` is 0
  int calls_per_sample = 1;  // calls that one sample is the sum of
  // Sampling goes on until the median is known this well (see
  // statistics::relative_half_width_of_median), as a share of it. 0: `samples` are taken, whatever
  // they are. The next three count only with a target.
  double target = 0;
  int min_samples = 10;
  int max_samples = 1000;
  // Of readings and what goes with them. None is begun that would probably end later, but the
  // first.
  double max_time_s = 10;
  // The clock's step. Half of it is added to what the samples say of how well the median is known.
  double resolution_s = 0;
  // What a reading must come to for the clock to tell it precisely; 0: anything. Shorter ones are
  // made of more calls. With a target it is at least resolution_s / target.
  double shortest_reading_s = 0;
};

// Every one may be empty.
struct Hooks {
  // After warm-up and preparation, before the first reading.
  std::function<void()> warmed_up;
  // Ahead of each reading, with its number from 0, outside its time and the time budget: where
  // ranks meet, and where a variant waits for its turn. Readings that turn out to be too short are
  // discarded, so that there are at least as many readings as samples.
  std::function<void(std::size_t reading)> before_reading;
  // The largest of the ranks' values, for decisions that all must take alike. Called as often, and
  // in the same order, on each of them.
  std::function<double(double)> worst_of_ranks;
  // A monotonic time in seconds; std::chrono::steady_clock where empty.
  std::function<double()> now_s;
};

enum class StoppedBy { count, target, max_samples, max_time };
// "count", "target", "max_samples", "max_time".
std::string_view to_text(StoppedBy reason);

struct Taken {
  double first_call_s = 0;        // the very first call, the host's part included
  std::vector<double> samples_s;  // seconds of `calls_per_sample` calls each; at least one
  // Calls that each reading was made of, divided back to `calls_per_sample`; a multiple of it.
  int calls_in_reading = 1;
  // The median reading is shorter than asked for: even grouped, or because it could not be grouped.
  bool too_short = false;
  StoppedBy stopped_by = StoppedBy::count;
  // How well the median is known at 95 %, as a share of it, on the rank that knows it worst;
  // infinity where the samples are too few to tell.
  double relative_interval = 0;
};

// Warm-up, then samples. The first call of all is the first warm-up call and in no sample; with a
// warm-up of 0 it is the first call of the first sample, as asked for, and nothing is grouped.
// Readings that are too short are repeated with more calls; this is settled on the first three.
// With a target the interval is looked at when the number of samples has grown by a quarter since
// the last look. Each look asks for more certainty than 95 %, so that over all of them the median
// is as near as the target says in 95 of 100 measurements.
Taken take_samples(Stopwatch& stopwatch, const SamplingSettings& settings, const Hooks& hooks);

}  // namespace assay::timing
