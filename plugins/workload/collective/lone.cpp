#include "workload/collective/lone.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <optional>

#include "measure/host_time.h"
#include "workload/collective/lone_call.h"

namespace assay::collective {

namespace {

constexpr double longest_s = 1;
constexpr int fewest = 5;

at::TensorOptions exchanged_on(const Group& group, at::Device device) {
  const bool on_device = group.backend->getBackendName() == "nccl";
  return at::TensorOptions().dtype(at::kDouble).device(on_device ? device : at::kCPU);
}

// Every rank's values, [ranks, values], on the CPU.
at::Tensor of_all_ranks(const Group& group, at::Device device, const std::vector<double>& values) {
  const auto options = exchanged_on(group, device);
  const auto count = static_cast<std::int64_t>(values.size());
  at::Tensor own = at::empty({count}, at::TensorOptions().dtype(at::kDouble));
  std::copy(values.begin(), values.end(), own.mutable_data_ptr<double>());
  own = own.to(options.device());
  at::Tensor all = at::empty({group.size * count}, options);
  group.backend->_allgather_base(all, own)->wait();
  return all.cpu().view({group.size, count});
}

double largest(const at::Tensor& values) { return values.max().item<double>(); }
double width(const at::Tensor& values) {
  return values.max().item<double>() - values.min().item<double>();
}

// A number that two ranks share if they share a clock. Exact as a double.
double number_of_this_boot() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  std::uint64_t hash = 14695981039346656037u;  // FNV-1a
  for (const char c : id) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return static_cast<double>(hash >> 12);
}

// So many that they take a second at most on the slowest rank.
int number_of_calls(const Group& group, at::Device device, int most, double call_s) {
  const double slowest_s = largest(of_all_ranks(group, device, {call_s}));
  const double fitting = longest_s / std::max(slowest_s, 1e-9);
  return static_cast<int>(std::clamp(fitting, std::min<double>(fewest, most), most * 1.0));
}

// With what goes before a call and behind it.
double whole_call_s(LoneCaller& caller, Calls& calls) {
  const double begin_s = measure::host_now_s();
  caller.call(calls);
  return measure::host_now_s() - begin_s;
}

}  // namespace

std::vector<MetricInfo> lone_metrics() {
  return {
      {lone_metric, "s", Direction::lower_is_better,
       "Time of one call from a common start of the ranks, on each of them."},
      {launch_metric, "s", Direction::lower_is_better,
       "The host's part of one call: until it is under way."},
      {start_skew_metric, "s", Direction::lower_is_better,
       "How much later the last rank began a lone call than the first."},
      {end_skew_metric, "s", Direction::lower_is_better,
       "How much later the last rank ended a lone call than the first."},
      {skew_error_metric, "s", Direction::lower_is_better,
       "How far the ranks' clocks may be apart in skews."},
  };
}

void record_lone_calls(Calls& calls, const Group& group, at::Device device, int most,
                       Recorder& recorder) {
  const bool on_device = group.backend->getBackendName() == "nccl";
  const auto caller = on_device ? lone_caller_on_device() : lone_caller_on_host(device);
  caller->call(calls);  // warms up the way it is called
  const int number = number_of_calls(group, device, most, whole_call_s(*caller, calls));
  std::vector<LoneCall> made;
  for (int i = 0; i < number; ++i) made.push_back(caller->call(calls));

  // A call counts where no rank's device may have waited for its host.
  std::vector<double> sent = {number_of_this_boot(), caller->clock_error_s()};
  for (const LoneCall& call : made) sent.push_back(call.held ? 1 : 0);
  for (const LoneCall& call : made) sent.push_back(call.start_s);
  for (const LoneCall& call : made) sent.push_back(call.start_s + call.time_s);
  const at::Tensor all = of_all_ranks(group, device, sent);
  const bool one_clock = width(all.select(1, 0)) == 0;
  const auto count = static_cast<std::int64_t>(number);
  for (std::int64_t i = 0; i < count; ++i) {
    if (all.select(1, 2 + i).min().item<double>() == 0) continue;
    const LoneCall& call = made[static_cast<std::size_t>(i)];
    recorder.sample(lone_metric, "", call.time_s);
    recorder.sample(launch_metric, "", call.launch_s);
    if (group.rank != 0 || !one_clock) continue;
    recorder.sample(start_skew_metric, "", width(all.select(1, 2 + count + i)));
    recorder.sample(end_skew_metric, "", width(all.select(1, 2 + 2 * count + i)));
  }
  if (group.rank == 0 && one_clock) {
    recorder.sample(skew_error_metric, "", largest(all.select(1, 1)));
  }
}

}  // namespace assay::collective
