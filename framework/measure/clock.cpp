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
  double reading_s = 0;  // usual distance of two adjacent readings: the cost of one
  double step_s = 1e-6;  // least distance of two adjacent readings
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
      : device_(device), rotation_(std::move(timed)), host_(observe_host_clock()) {}

  std::string name() const override { return "wall"; }
  double resolution_s() const override { return host_.step_s; }
  double shortest_reading_s() const override { return 1000 * host_.step_s; }
  std::size_t last() const override { return rotation_.last(); }
  std::size_t last_row() const override { return rotation_.last_row(); }
  bool makes_rows() const override { return device_.is_cpu() && rotation_.nothing_between(); }
  void add(std::vector<Call> calls) override { rotation_.add(std::move(calls)); }

  void prepare() override {
    for (std::size_t i = 1; i < rotation_.calls().size(); ++i) call(i);
    synchronize(device_);
  }

  double sample(int calls) override {
    if (rotation_.calls().front().in_a_row) return in_a_row_s(calls);
    if (calls > 1 && nothing_goes_before() && rotation_.longest_row() > 1) {
      return in_rows(calls, rotation_.longest_row(), [this](int n) { return row_s(n); });
    }
    double total_s = 0;
    for (int i = 0; i < calls; ++i) {
      const auto& run = rotation_.next();
      synchronize(device_);
      rotation_.meet();
      const double begin_s = host_now_s();
      run();
      synchronize(device_);
      total_s += std::max(0.0, host_now_s() - begin_s - host_.reading_s);
      least_before_s_ = std::min(least_before_s_, rotation_.before_s() - host_.reading_s);
    }
    return total_s;
  }

  void call(std::size_t program) override {
    rotation_.calls()[program].before();
    rotation_.calls()[program].run();
  }

  store::ClockFacts facts() const override {
    return {.resolution_s = resolution_s(), .overhead_s = host_.reading_s};
  }

 private:
  // Judged by the calls so far: `before` may do nothing.
  bool nothing_goes_before() const {
    constexpr double nothing_s = 30e-9;
    return makes_rows() && least_before_s_ < nothing_s;
  }

  // The calls wait for their own end, in whatever way is cheapest for them.
  double in_a_row_s(int calls) {
    rotation_.next();
    synchronize(device_);
    rotation_.meet();
    const auto& in_a_row = rotation_.calls()[rotation_.last()].in_a_row;
    const double begin_s = host_now_s();
    in_a_row(calls);
    return std::max(0.0, host_now_s() - begin_s - host_.reading_s);
  }

  // Takes one pair of readings around the row: a pair costs about as much as a short call, and
  // its cost varies with the processor's other work. Includes the nanoseconds of empty `before`
  // calls.
  double row_s(int calls) {
    rotation_.begin_row(calls);
    const double begin_s = host_now_s();
    for (int i = 0; i < calls; ++i) rotation_.next_in_row()();
    return std::max(0.0, host_now_s() - begin_s - host_.reading_s);
  }

  c10::Device device_;
  CallRotation rotation_;
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
