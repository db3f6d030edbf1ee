#include "measure/clock.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "measure/call_rotation.h"
#include "measure/cuda_clocks.h"
#include "measure/device.h"
#include "measure/host_time.h"

namespace assay::measure {

namespace {

struct HostClock {
  double reading_s = 0;  // what two readings in a row are usually apart: what one of them takes
  double step_s = 1e-6;  // the least that two of them are apart
};

HostClock observe_host_clock() {
  constexpr int pairs = 101;
  std::vector<double> apart_s;
  for (int i = 0; i < pairs; ++i) {
    const double begin_s = host_now_s();
    apart_s.push_back(host_now_s() - begin_s);
  }
  std::sort(apart_s.begin(), apart_s.end());
  HostClock clock;
  clock.reading_s = apart_s[pairs / 2];
  const auto step = std::upper_bound(apart_s.begin(), apart_s.end(), 0.0);
  if (step != apart_s.end()) clock.step_s = *step;
  return clock;
}

class WallClock final : public Clock {
 public:
  WallClock(const c10::Device& device, TimedCalls timed)
      : device_(device), turns_(std::move(timed)), host_(observe_host_clock()) {}

  std::string name() const override { return "wall"; }
  double resolution_s() const override { return host_.step_s; }
  double shortest_reading_s() const override { return 1000 * host_.step_s; }
  std::size_t last() const override { return turns_.last(); }

  void prepare() override {
    for (std::size_t i = 1; i < turns_.calls().size(); ++i) call(i);
    synchronize(device_);
  }

  double sample(int calls) override {
    if (calls > 1 && nothing_goes_before()) return in_a_row_s(calls);
    double total_s = 0;
    for (int i = 0; i < calls; ++i) {
      const double ahead_s = host_now_s();
      const auto& run = turns_.next();
      synchronize(device_);
      const double begin_s = host_now_s();
      run();
      synchronize(device_);
      total_s += std::max(0.0, host_now_s() - begin_s - host_.reading_s);
      least_before_s_ = std::min(least_before_s_, begin_s - ahead_s - host_.reading_s);
    }
    return total_s;
  }

  void call(std::size_t program) override {
    turns_.calls()[program].before();
    turns_.calls()[program].run();
  }

  store::ClockFacts facts() const override {
    return {.resolution_s = resolution_s(), .overhead_s = host_.reading_s};
  }

 private:
  // As far as has been seen: `before` may well do nothing when it is called.
  bool nothing_goes_before() const {
    constexpr double nothing_s = 30e-9;
    return device_.is_cpu() && turns_.nothing_between() && least_before_s_ < nothing_s;
  }

  // One pair of readings around all of them: each of a pair takes about as long as a short call,
  // and how much of that it adds differs with what the processor does beside it. What calling
  // `before` for nothing takes, some nanoseconds, is included.
  double in_a_row_s(int calls) {
    const double begin_s = host_now_s();
    for (int i = 0; i < calls; ++i) turns_.next()();
    return std::max(0.0, host_now_s() - begin_s - host_.reading_s);
  }

  c10::Device device_;
  CallRotation turns_;
  HostClock host_;
  double least_before_s_ = std::numeric_limits<double>::infinity();
};

}  // namespace

std::unique_ptr<Clock> make_clock(const std::string& name, const c10::Device& device,
                                  TimedCalls timed) {
  if (name == "wall") return std::make_unique<WallClock>(device, std::move(timed));
#if ASSAY_WITH_CUDA
  if (device.is_cuda() && name == "cuda_event") return make_cuda_event_clock(std::move(timed));
  if (device.is_cuda() && name == "cuda_graph") return make_cuda_graph_clock(std::move(timed));
#endif
  throw std::invalid_argument(fmt::format("the clock '{}' cannot be used on {}", name,
                                          device.is_cuda() ? "CUDA" : "a CPU"));
}

}  // namespace assay::measure
