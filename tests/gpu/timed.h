#pragma once

#include <ATen/Context.h>
#include <c10/cuda/CUDAStream.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "device.h"
#include "measure/clock.h"
#include "timing/sampling.h"

namespace assay::test {

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

inline cudaStream_t current_stream() { return c10::cuda::getCurrentCUDAStream(); }

inline measure::TimedCalls calls_of(std::function<void()> run, std::function<void()> flush = {}) {
  return {{{[] {}, std::move(run)}}, std::move(flush)};
}

class ClockStopwatch final : public timing::Stopwatch {
 public:
  explicit ClockStopwatch(measure::Clock& clock) : clock_(clock) {}
  double warm_up_s() override { return 0; }
  void prepare() override { clock_.prepare(); }
  double sample_s(int calls) override { return clock_.sample(calls); }

 private:
  measure::Clock& clock_;
};

struct Measured {
  double s = 0;        // the median of the samples
  double error_s = 0;  // largest error of a call by the clock's own account
};

// Batches short calls, as sampling a pass does.
inline Measured measure_by(const std::string& name, measure::TimedCalls calls, int samples) {
  const auto clock = measure::make_clock(name, cuda, std::move(calls));
  ClockStopwatch stopwatch(*clock);
  timing::SamplingSettings settings;
  settings.samples = samples;
  settings.resolution_s = clock->resolution_s();
  settings.shortest_reading_s = clock->shortest_reading_s();
  const double median_s = median(timing::take_samples(stopwatch, settings, {}).samples_s);
  return {median_s, clock->facts().call_error_s.value_or(0.0)};
}

inline double median_of_clock(const std::string& name, measure::TimedCalls calls, int samples) {
  return measure_by(name, std::move(calls), samples).s;
}

}  // namespace assay::test
