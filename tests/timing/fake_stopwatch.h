#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <utility>
#include <vector>

#include "timing/sampling.h"

namespace assay::timing {

// Calls whose durations a test decides, on a clock that only they move.
class FakeStopwatch final : public Stopwatch {
 public:
  explicit FakeStopwatch(std::function<double()> duration_s) : duration_s_(std::move(duration_s)) {}

  double warm_up_s() override {
    ++warm_up_calls;
    return advance();
  }
  void prepare() override { prepared_after = warm_up_calls; }
  double sample_s(int calls) override {
    calls_of_reading.push_back(calls);
    now_s += untimed_s;
    const double begin_s = now_s;
    double sum_s = 0;
    for (int i = 0; i < calls; ++i) {
      const double call_begin_s = now_s;
      advance();
      sum_s += shown(now_s) - shown(call_begin_s);
    }
    return one_by_one ? sum_s : shown(now_s) - shown(begin_s);
  }

  double now_s = 0.123456789;
  double step_s = 0;        // of the clock that is read; 0: continuous
  double untimed_s = 0;     // passes ahead of each reading without being timed
  bool one_by_one = false;  // each call is timed on its own, and the times are added
  int warm_up_calls = 0;
  int prepared_after = -1;  // warm-up calls there had been
  std::vector<int> calls_of_reading;

 private:
  double advance() {
    const double s = duration_s_();
    now_s += s;
    return s;
  }
  double shown(double time_s) const {
    return step_s == 0 ? time_s : std::floor(time_s / step_s) * step_s;
  }

  std::function<double()> duration_s_;
};

inline std::function<double()> constant(double duration_s) {
  return [=] { return duration_s; };
}

// Takes samples on the stopwatch's own clock.
inline Taken take(FakeStopwatch& stopwatch, const SamplingSettings& settings, Hooks hooks = {}) {
  hooks.now_s = [&] { return stopwatch.now_s; };
  return take_samples(stopwatch, settings, hooks);
}

}  // namespace assay::timing
