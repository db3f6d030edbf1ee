#include "timing/sampling.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "statistics/median_interval.h"
#include "statistics/quantiles.h"

namespace assay::timing {

namespace {

constexpr double level = 0.95;
// tests/timing checks that all looks together keep `level`.
constexpr double level_of_a_look = 0.99;
constexpr double growth_between_looks = 1.25;

constexpr std::size_t readings_that_settle_batch = 3;
constexpr int most_calls_in_reading = 100'000;
constexpr double fastest_growth = 16;  // of a batch at a time: a reading near 0 tells little
constexpr double margin = 1.25;        // over the shortest reading, against noise
constexpr double longest_probe_s = 0.05;

double steady_now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Reading {
  double timed_s = 0;
  double spent_s = 0;  // overhead included
};

class Sampling {
 public:
  Sampling(Stopwatch& stopwatch, const SamplingSettings& settings, const Hooks& hooks)
      : stopwatch_(stopwatch),
        settings_(settings),
        hooks_(hooks),
        batch_(std::max(1, settings.samples_in_reading)) {
    if (settings_.target > 0) {
      shortest_s_ = std::max(shortest_s_, settings_.resolution_s / settings_.target);
    }
  }

  Taken run() {
    warm_up();
    stopwatch_.prepare();
    if (hooks_.warmed_up) hooks_.warmed_up();
    do {
      take_sample();
    } while (!finished());
    conclude();
    return std::move(taken_);
  }

 private:
  void warm_up() {
    for (int i = 0; i < settings_.warmup; ++i) {
      const double call_s = stopwatch_.warm_up_s();
      if (i == 0) taken_.first_call_s = call_s;
    }
  }

  void take_sample() {
    Reading reading = read();
    while (settings_.warmup > 0 && taken_.samples_s.size() < readings_that_settle_batch &&
           enlarges_batch(reading)) {
      taken_.samples_s.clear();
      reading = read();
    }
    taken_.samples_s.push_back(reading.timed_s / batch_);
    if (readings_ == 1 && settings_.warmup == 0) taken_.first_call_s = reading.timed_s;
  }

  Reading read() {
    stopwatch_.announce(settings_.calls_per_sample * batch_);
    if (hooks_.before_reading) hooks_.before_reading(readings_);
    ++readings_;
    const double begin_s = now_s();
    Reading reading;
    reading.timed_s = stopwatch_.sample_s(settings_.calls_per_sample * batch_);
    reading.spent_s = now_s() - begin_s;
    spent_s_ += reading.spent_s;
    return reading;
  }

  // Returns true where the next readings make more calls than this one.
  bool enlarges_batch(const Reading& reading) {
    if (shortest_s_ <= 0 || settings_.samples_in_reading > 0) return false;
    const double agreed = worst(wanted_batch(reading));
    if (agreed <= batch_) return false;
    batch_ = static_cast<int>(agreed);
    return true;
  }

  double wanted_batch(const Reading& reading) const {
    const bool affordable = reading.spent_s < std::max(longest_probe_s, 10 * shortest_s_);
    if (reading.timed_s >= shortest_s_ || !affordable) return batch_;
    const double missing = margin * shortest_s_ / std::max(reading.timed_s, 1e-12);
    const double wanted = std::ceil(batch_ * std::clamp(missing, 1.0, fastest_growth));
    const double most = std::max(1, most_calls_in_reading / settings_.calls_per_sample);
    return std::clamp(wanted, static_cast<double>(batch_), std::max<double>(most, batch_));
  }

  bool finished() {
    const auto count = static_cast<int>(taken_.samples_s.size());
    if (settings_.target <= 0) return count >= settings_.samples;
    const bool full = count >= settings_.max_samples;
    const bool late =
        worst(spent_s_ + spent_s_ / static_cast<double>(readings_)) > settings_.max_time_s;
    if (!full && !late && count < next_look()) return false;
    looked_at_ = count;
    if (known_within(level_of_a_look) <= settings_.target) {
      taken_.stopped_by = StoppedBy::target;
      return true;
    }
    taken_.stopped_by = full ? StoppedBy::max_samples : StoppedBy::max_time;
    return full || late;
  }

  int next_look() const {
    return looked_at_ == 0 ? settings_.min_samples
                           : static_cast<int>(std::ceil(looked_at_ * growth_between_looks));
  }

  void conclude() {
    taken_.calls_in_reading = settings_.calls_per_sample * batch_;
    taken_.too_short = median_reading_s() < shortest_s_;
    taken_.relative_interval = known_within(level);
  }

  double known_within(double certainty) const {
    const double step = settings_.resolution_s / 2 / median_reading_s();  // infinity for 0
    return worst(statistics::relative_half_width_of_median(taken_.samples_s, certainty) +
                 (settings_.resolution_s > 0 ? step : 0));
  }

  double median_reading_s() const { return statistics::median(taken_.samples_s) * batch_; }

  double now_s() const { return hooks_.now_s ? hooks_.now_s() : steady_now_s(); }
  double worst(double value) const {
    return hooks_.worst_of_ranks ? hooks_.worst_of_ranks(value) : value;
  }

  Stopwatch& stopwatch_;
  const SamplingSettings& settings_;
  const Hooks& hooks_;
  Taken taken_;
  std::size_t readings_ = 0;
  double shortest_s_ = settings_.shortest_reading_s;
  int batch_;  // samples in one reading, of calls_per_sample calls each
  double spent_s_ = 0;
  int looked_at_ = 0;  // number of samples at the last look
};

}  // namespace

std::string_view to_text(StoppedBy reason) {
  switch (reason) {
    case StoppedBy::count:
      return "count";
    case StoppedBy::target:
      return "target";
    case StoppedBy::max_samples:
      return "max_samples";
    case StoppedBy::max_time:
      return "max_time";
  }
  return "";
}

Taken take_samples(Stopwatch& stopwatch, const SamplingSettings& settings, const Hooks& hooks) {
  return Sampling(stopwatch, settings, hooks).run();
}

}  // namespace assay::timing
