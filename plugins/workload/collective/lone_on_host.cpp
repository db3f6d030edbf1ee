#include <vector>

#include "measure/device.h"
#include "measure/host_time.h"
#include "workload/collective/lone_call.h"
#include "workload/collective/median.h"

namespace assay::collective {

namespace {

class OnHost final : public LoneCaller {
 public:
  explicit OnHost(at::Device device) : device_(device), reading_s_(reading_s()) {}

  LoneCall call(Calls& calls) override {
    calls.meet();
    LoneCall call;
    call.start_s = measure::host_now_s();
    calls.launch(0);
    const double launched_s = measure::host_now_s();
    calls.wait();
    if (device_.is_cuda()) measure::synchronize(device_);
    call.time_s = measure::host_now_s() - call.start_s;
    call.launch_s = launched_s - call.start_s;
    return call;
  }
  double clock_error_s() const override { return reading_s_; }

 private:
  // Usual time between two readings of the clock.
  static double reading_s() {
    constexpr int pairs = 101;
    std::vector<double> apart_s;
    for (int i = 0; i < pairs; ++i) {
      const double begin_s = measure::host_now_s();
      apart_s.push_back(measure::host_now_s() - begin_s);
    }
    return median(std::move(apart_s));
  }

  at::Device device_;
  double reading_s_;
};

}  // namespace

std::unique_ptr<LoneCaller> lone_caller_on_host(at::Device device) {
  return std::make_unique<OnHost>(device);
}

}  // namespace assay::collective
