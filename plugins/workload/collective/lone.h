#pragma once

#include <assay/record.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "workload/collective/calls.h"

namespace assay::collective {

inline constexpr const char* lone_metric = "lone_time";
inline constexpr const char* launch_metric = "launch_time";
inline constexpr const char* start_skew_metric = "start_skew";
inline constexpr const char* end_skew_metric = "end_skew";
inline constexpr const char* skew_error_metric = "skew_error";

std::vector<MetricInfo> lone_metrics();

// What goes around a lone call, untimed.
struct LoneWork {
  std::function<void(std::uint64_t number)> renew;  // gives the call contents of its own
  std::function<Verification()> look;               // compares what it left
};

// Makes `most` calls one at a time, each from a common start of the ranks; fewer, but at least
// five, where they would take more than a second with their starts. Records on every rank how long
// each took there and what the host spent on launching it; on rank 0 how far apart the ranks began
// and ended. Looks at the last call and at some that nobody could know before. Throws on all ranks
// where a look fails on one. All ranks call it together. docs/communication.md says how the start
// is made and how well the ranks' clocks agree.
void record_lone_calls(Calls& calls, const LoneWork& work, const Group& group, at::Device device,
                       int most, Recorder& recorder);

}  // namespace assay::collective
