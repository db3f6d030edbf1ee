#include "measure/clock.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "measure/cuda_clocks.h"
#include "measure/device.h"
#include "measure/turns.h"
#include "timing/host_clock.h"

namespace assay::measure {

namespace {

// What two readings in a row are apart: what one of them takes.
double reading_takes_s() {
  constexpr int pairs = 101;
  std::vector<double> differences_s;
  for (int i = 0; i < pairs; ++i) {
    const double begin_s = timing::host_now_s();
    differences_s.push_back(timing::host_now_s() - begin_s);
  }
  const auto middle = differences_s.begin() + pairs / 2;
  std::nth_element(differences_s.begin(), middle, differences_s.end());
  return *middle;
}

class WallClock final : public Clock {
 public:
  WallClock(const c10::Device& device, TimedCalls timed)
      : device_(device), turns_(std::move(timed)), overhead_s_(reading_takes_s()) {}

  std::string name() const override { return "wall"; }
  double resolution_s() const override { return timing::host_clock_step_s(); }
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
      const double begin_s = timing::host_now_s();
      run();
      synchronize(device_);
      total_s += std::max(0.0, timing::host_now_s() - begin_s - overhead_s_);
    }
    return total_s;
  }

  void call(std::size_t program) override {
    turns_.calls()[program].before();
    turns_.calls()[program].run();
  }

  nlohmann::json facts() const override {
    return {{"resolution_s", resolution_s()}, {"overhead_s", overhead_s_}};
  }

 private:
  c10::Device device_;
  Turns turns_;
  double overhead_s_;
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
