#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <utility>
#include <vector>

#include "timing/sampling.h"

namespace assay::timing {

// Calls of given durations, on a clock that only they move.
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
  double step_s = 0;        // of the clock; 0: continuous
  double untimed_s = 0;     // ahead of each reading
  bool one_by_one = false;  // times each call on its own and adds the times
  int warm_up_calls = 0;
  int prepared_after = -1;  // so many warm-up calls
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

inline Taken take(FakeStopwatch& stopwatch, const SamplingSettings& settings, Hooks hooks = {}) {
  hooks.now_s = [&] { return stopwatch.now_s; };
  return take_samples(stopwatch, settings, hooks);
}

}  // namespace assay::timing
