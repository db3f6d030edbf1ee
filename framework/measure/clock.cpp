#include "measure/clock.h"

#include <fmt/format.h>

#include <chrono>
#include <stdexcept>

#include "measure/device.h"

#if ASSAY_WITH_CUDA
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <ATen/cuda/CUDAGraph.h>
#include <ATen/cuda/Sleep.h>
#include <c10/cuda/CUDAGuard.h>
#endif

namespace assay::measure {

namespace {

using Monotonic = std::chrono::steady_clock;

double seconds_since(Monotonic::time_point start) {
  return std::chrono::duration<double>(Monotonic::now() - start).count();
}

class WallClock final : public Clock {
 public:
  explicit WallClock(const c10::Device& device) : device_(device) {}

  std::string name() const override { return "wall"; }

  double sample(const Call& call, int calls) override {
    double total_s = 0;
    for (int i = 0; i < calls; ++i) {
      call.before();
      synchronize(device_);
      const auto start = Monotonic::now();
      call.run();
      synchronize(device_);
      total_s += seconds_since(start);
    }
    return total_s;
  }

 private:
  c10::Device device_;
};

#if ASSAY_WITH_CUDA

constexpr double longest_hold_s = 0.05;
constexpr double fastest_clock_hz =
    2e9;  // of the multiprocessors; slower ones hold a little longer

// Device time of what `enqueue` puts on the current stream. The stream first spins for `hold_s`,
// long enough for the host to have enqueued everything before the first event is reached.
double event_time_s(double hold_s, const std::function<void()>& enqueue) {
  at::cuda::CUDAEvent start(cudaEventDefault);
  at::cuda::CUDAEvent stop(cudaEventDefault);
  at::cuda::sleep(static_cast<std::int64_t>(hold_s * fastest_clock_hz));
  start.record();
  enqueue();
  stop.record();
  stop.synchronize();
  return start.elapsed_time(stop) * 1e-3;
}

class CudaEventClock final : public Clock {
 public:
  std::string name() const override { return "cuda_event"; }

  void prepare(const Call& call) override {
    call.before();
    c10::cuda::device_synchronize();
    const auto start = Monotonic::now();
    call.run();
    enqueue_s_ = seconds_since(start);
    c10::cuda::device_synchronize();
  }

  double sample(const Call& call, int calls) override {
    double total_s = 0;
    for (int i = 0; i < calls; ++i) {
      call.before();
      const double hold_s = std::min(1.5 * enqueue_s_ + 20e-6, longest_hold_s);
      total_s += event_time_s(hold_s, call.run);
    }
    return total_s;
  }

 private:
  double enqueue_s_ = 1e-3;  // host time of one call
};

class CudaGraphClock final : public Clock {
 public:
  std::string name() const override { return "cuda_graph"; }

  void prepare(const Call& call) override {
    call.before();
    c10::cuda::device_synchronize();
    const c10::cuda::CUDAStreamGuard guard(c10::cuda::getStreamFromPool());
    graph_.capture_begin();
    call.run();
    graph_.capture_end();
    c10::cuda::device_synchronize();
  }

  double sample(const Call&, int calls) override {
    return event_time_s(20e-6, [&] {
      for (int i = 0; i < calls; ++i) graph_.replay();
    });
  }

 private:
  at::cuda::CUDAGraph graph_;
};

#endif

}  // namespace

std::unique_ptr<Clock> make_clock(const std::string& name, const c10::Device& device) {
  if (name == "wall") return std::make_unique<WallClock>(device);
#if ASSAY_WITH_CUDA
  if (device.is_cuda() && name == "cuda_event") return std::make_unique<CudaEventClock>();
  if (device.is_cuda() && name == "cuda_graph") return std::make_unique<CudaGraphClock>();
#endif
  throw std::invalid_argument(fmt::format("the clock '{}' cannot be used on {}", name,
                                          device.is_cuda() ? "CUDA" : "a CPU"));
}

Timing time_call(Clock& clock, const Call& call, const c10::Device& device,
                 const TimingSettings& settings, const std::function<void()>& start_together) {
  Timing timing;
  WallClock wall(device);
  if (settings.warmup > 0) {
    timing.first_call_s = wall.sample(call, 1);
    for (int i = 1; i < settings.warmup; ++i) wall.sample(call, 1);
  }
  if (settings.warmup > 0 || clock.name() == "cuda_graph") clock.prepare(call);
  for (int i = 0; i < settings.samples; ++i) {
    start_together();
    timing.samples_s.push_back(clock.sample(call, settings.calls_per_sample));
  }
  if (settings.warmup == 0) timing.first_call_s = timing.samples_s.front();
  return timing;
}

}  // namespace assay::measure
