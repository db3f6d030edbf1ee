#pragma once

#include <ATen/Context.h>
#include <c10/cuda/CUDAStream.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "device.h"
#include "measure/clock.h"

// What the tests of clocks and caches time with.
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

inline std::vector<double> samples_of(measure::Clock& clock, int count) {
  std::vector<double> samples;
  for (int i = 0; i < count; ++i) samples.push_back(clock.sample(1));
  return samples;
}

inline double median_of_clock(const std::string& name, measure::TimedCalls calls, int samples) {
  const auto clock = measure::make_clock(name, cuda, std::move(calls));
  clock->prepare();
  for (int i = 0; i < 3; ++i) clock->sample(1);
  return median(samples_of(*clock, samples));
}

}  // namespace assay::test
