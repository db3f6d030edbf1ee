#include "measure/clock.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "measure/cuda_clocks.h"
#include "measure/device.h"
#include "measure/turns.h"

namespace assay::measure {

namespace {

// Adjusted in rate by time servers, by at most 500 parts in a million, and never set back.
using Monotonic = std::chrono::steady_clock;

double seconds_between(Monotonic::time_point start, Monotonic::time_point stop) {
  return std::chrono::duration<double>(stop - start).count();
}

// Two readings in a row differ by what one takes, and by no less than a tick.
struct Readings {
  double apart_s = 0;  // the usual difference
  double tick_s = 0;   // the smallest one above 0
};

Readings observe_readings() {
  constexpr int pairs = 101;
  std::vector<double> differences;
  double smallest = 1;
  for (int i = 0; i < pairs; ++i) {
    const auto start = Monotonic::now();
    differences.push_back(seconds_between(start, Monotonic::now()));
    if (differences.back() > 0) smallest = std::min(smallest, differences.back());
  }
  const auto middle = differences.begin() + pairs / 2;
  std::nth_element(differences.begin(), middle, differences.end());
  return {*middle, smallest < 1 ? smallest : 1e-6};
}

class WallClock final : public Clock {
 public:
  WallClock(const c10::Device& device, TimedCalls timed)
      : device_(device), turns_(std::move(timed)), readings_(observe_readings()) {}

  std::string name() const override { return "wall"; }
  double resolution_s() const override { return readings_.tick_s; }
  std::size_t last() const override { return turns_.last(); }

  void prepare() override {
    for (std::size_t i = 1; i < turns_.calls().size(); ++i) call(i);
    synchronize(device_);
  }

  double sample(int calls) override {
    double total_s = 0;
    for (int i = 0; i < calls; ++i) {
      const auto& run = turns_.next();
      synchronize(device_);
      const auto start = Monotonic::now();
      run();
      synchronize(device_);
      total_s += std::max(0.0, seconds_between(start, Monotonic::now()) - readings_.apart_s);
    }
    return total_s;
  }

  void call(std::size_t program) override {
    turns_.calls()[program].before();
    turns_.calls()[program].run();
  }

  nlohmann::json facts() const override {
    return {{"resolution_s", readings_.tick_s}, {"overhead_s", readings_.apart_s}};
  }

 private:
  c10::Device device_;
  Turns turns_;
  Readings readings_;
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
