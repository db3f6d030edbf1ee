#include <algorithm>
#include <vector>

#include "measure/device.h"
#include "measure/host_time.h"
#include "workload/collective/lone_call.h"

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
    constexpr std::size_t pairs = 101;
    std::vector<double> apart_s;
    for (std::size_t i = 0; i < pairs; ++i) {
      const double begin_s = measure::host_now_s();
      apart_s.push_back(measure::host_now_s() - begin_s);
    }
    std::nth_element(apart_s.begin(), apart_s.begin() + pairs / 2, apart_s.end());
    return apart_s[pairs / 2];
  }

  at::Device device_;
  double reading_s_;
};

}  // namespace

std::unique_ptr<LoneCaller> lone_caller_on_host(at::Device device) {
  return std::make_unique<OnHost>(device);
}

}  // namespace assay::collective
