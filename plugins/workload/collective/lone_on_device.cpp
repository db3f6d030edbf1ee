#include <assay/plugin.h>

#include "workload/collective/lone_call.h"

#if ASSAY_WITH_CUDA
#include <ATen/cuda/CUDAEvent.h>
#include <ATen/cuda/Sleep.h>
#include <c10/cuda/CUDAStream.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "measure/host_time.h"
#include "workload/collective/median.h"
#endif

namespace assay::collective {

#if ASSAY_WITH_CUDA

namespace {

class OnDevice final : public LoneCaller {
 public:
  OnDevice() {
    for (int i = 0; i < spins_until_awake; ++i) shown_by_spin_s(long_cycles);
    const double short_s = median_of_spins_s(short_cycles);
    const double long_s = median_of_spins_s(long_cycles);
    constexpr double ratio = static_cast<double>(long_cycles) / short_cycles;
    overhead_s_ = std::max(0.0, short_s - (long_s - short_s) / (ratio - 1));
    cycles_per_s_ = (long_cycles - short_cycles) / std::max(long_s - short_s, 1e-9);
  }

  LoneCall call(Calls& calls) override {
    const auto stream = c10::cuda::getCurrentCUDAStream();
    LoneCall call;
    at::cuda::sleep(static_cast<std::int64_t>(hold_s_ * cycles_per_s_));
    released_.record(stream);
    calls.meet();
    start_.record(stream);
    const double begin_s = measure::host_now_s();
    calls.launch(0);
    call.launch_s = measure::host_now_s() - begin_s;
    calls.wait();
    stop_.record(stream);
    call.held = !released_.query();
    stream.synchronize();
    if (!call.held) hold_s_ = std::min(2 * hold_s_, longest_hold_s);
    call.time_s = std::max(0.0, between_s(start_, stop_) - overhead_s_);
    call.start_s = host_time_of_start_s();
    return call;
  }

  double clock_error_s() const override { return disagreed_s_.empty() ? 0 : median(disagreed_s_); }

 private:
  static constexpr std::int64_t short_cycles = 10'000;  // 5 µs at 2 GHz
  static constexpr std::int64_t long_cycles = 160'000;
  static constexpr int spins_until_awake = 30;  // after a pause the first ones are longer
  static constexpr int spins = 41;
  static constexpr double longest_hold_s = 5e-3;
  static constexpr int looks = 4;

  static double between_s(const at::cuda::CUDAEvent& from, const at::cuda::CUDAEvent& to) {
    return from.elapsed_time(to) * 1e-3;
  }

  // The spin is held as a timed call is, behind another spin.
  double shown_by_spin_s(std::int64_t cycles) {
    const auto stream = c10::cuda::getCurrentCUDAStream();
    at::cuda::sleep(long_cycles);
    start_.record(stream);
    at::cuda::sleep(cycles);
    stop_.record(stream);
    stream.synchronize();
    return between_s(start_, stop_);
  }
  double median_of_spins_s(std::int64_t cycles) {
    std::vector<double> shown_s;
    for (int i = 0; i < spins; ++i) shown_s.push_back(shown_by_spin_s(cycles));
    return median(std::move(shown_s));
  }

  // The host sees an event on the idle stream a little after it happened. The least of several such
  // delays is nearly the same each time and on each rank, so that it drops out of a skew; how much
  // the least of two halves differ says how nearly. Clocks drift, so each call has looks of its
  // own.
  double host_time_of_start_s() {
    const double first_s = earliest_look_s();
    const double second_s = earliest_look_s();
    disagreed_s_.push_back(std::abs(first_s - second_s));
    return std::min(first_s, second_s);
  }
  double earliest_look_s() {
    const auto stream = c10::cuda::getCurrentCUDAStream();
    double earliest_s = 0;
    for (int i = 0; i < looks; ++i) {
      look_.record(stream);
      while (!look_.query()) {
      }
      const double seen_s = measure::host_now_s() - between_s(start_, look_);
      earliest_s = i == 0 ? seen_s : std::min(earliest_s, seen_s);
    }
    return earliest_s;
  }

  at::cuda::CUDAEvent released_{cudaEventDisableTiming};
  at::cuda::CUDAEvent start_{cudaEventDefault};
  at::cuda::CUDAEvent stop_{cudaEventDefault};
  at::cuda::CUDAEvent look_{cudaEventDefault};
  double overhead_s_ = 0;  // what the events show around any kernel
  double cycles_per_s_ = 2e9;
  double hold_s_ = 100e-6;
  std::vector<double> disagreed_s_;
};

}  // namespace

std::unique_ptr<LoneCaller> lone_caller_on_device() { return std::make_unique<OnDevice>(); }

#else

std::unique_ptr<LoneCaller> lone_caller_on_device() { throw Unsupported("this build has no CUDA"); }

#endif

}  // namespace assay::collective
