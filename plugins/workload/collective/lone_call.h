#pragma once

#include <memory>

#include "workload/collective/calls.h"

namespace assay::collective {

// One call from a common start. Times are on the host's monotonic clock, which the ranks of a
// machine share.
struct LoneCall {
  double start_s = 0;
  double time_s = 0;    // on this rank, from its start to its end
  double launch_s = 0;  // the host's part of it, until the call is under way
  bool held = true;     // false: the device may have waited for the host
};

class LoneCaller {
 public:
  virtual ~LoneCaller() = default;
  // All ranks call it together.
  virtual LoneCall call(Calls& calls) = 0;
  // How far start_s may be from the truth.
  virtual double clock_error_s() const = 0;
};

// By the host's clock from a barrier on, until the call has finished there and on the device.
std::unique_ptr<LoneCaller> lone_caller_on_host(at::Device device);
// By events on the current stream, which a spinning kernel holds until the host has enqueued
// meeting and call, so that neither is in the time.
std::unique_ptr<LoneCaller> lone_caller_on_device();

}  // namespace assay::collective
