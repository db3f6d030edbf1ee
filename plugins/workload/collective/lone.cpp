#include "workload/collective/lone.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <assay/reference.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <optional>

#include "measure/content_pattern.h"
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
double whole_call_s(LoneCaller& caller, Calls& calls, const LoneWork& work) {
  const double begin_s = measure::host_now_s();
  work.renew(1);
  caller.call(calls);
  return measure::host_now_s() - begin_s;
}

// The same on all ranks, not 0.
std::uint64_t drawn_by_one(const Group& group, at::Device device) {
  const auto own = static_cast<double>(reference::fresh_seed() >> 12);
  return 1 + static_cast<std::uint64_t>(of_all_ranks(group, device, {own})[0][0].item<double>());
}

// About ten of the calls, and the last.
bool is_looked_at(int call, int calls, std::uint64_t secret) {
  const auto one_in = static_cast<std::uint64_t>(std::max(10, calls / 10));
  return call == calls - 1 ||
         measure::mixed(~secret ^ static_cast<std::uint64_t>(call)) % one_in == 0;
}

std::string wrong_in(const Verification& found) {
  if (!found.checked || found.error <= found.tolerance) return {};
  return fmt::format("in a lone call: {} differs from the reference by {:.3g}", found.worst,
                     found.error);
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

void record_lone_calls(Calls& calls, const LoneWork& work, const Group& group, at::Device device,
                       int most, Recorder& recorder) {
  const bool on_device = group.backend->getBackendName() == "nccl";
  const auto caller = on_device ? lone_caller_on_device() : lone_caller_on_host(device);
  work.renew(2);
  caller->call(calls);  // warms up the way it is called
  const int number = number_of_calls(group, device, most, whole_call_s(*caller, calls, work));
  const std::uint64_t secret = drawn_by_one(group, device);
  std::vector<LoneCall> made;
  std::string wrong;
  for (int i = 0; i < number; ++i) {
    work.renew(measure::mixed(secret ^ measure::mixed(static_cast<std::uint64_t>(i))) | 1);
    made.push_back(caller->call(calls));
    if (wrong.empty() && is_looked_at(i, number, secret)) wrong = wrong_in(work.look());
  }

  // A call counts where no rank's device may have waited for its host.
  std::vector<double> sent = {number_of_this_boot(), caller->clock_error_s(),
                              wrong.empty() ? 0.0 : 1.0};
  for (const LoneCall& call : made) sent.push_back(call.held ? 1 : 0);
  for (const LoneCall& call : made) sent.push_back(call.start_s);
  for (const LoneCall& call : made) sent.push_back(call.start_s + call.time_s);
  const at::Tensor all = of_all_ranks(group, device, sent);
  if (largest(all.select(1, 2)) > 0) {
    throw_unless_ok({Outcome::wrong, wrong.empty() ? "in a lone call, on another rank" : wrong});
  }
  const bool one_clock = width(all.select(1, 0)) == 0;
  const auto count = static_cast<std::int64_t>(number);
  for (std::int64_t i = 0; i < count; ++i) {
    if (all.select(1, 3 + i).min().item<double>() == 0) continue;
    const LoneCall& call = made[static_cast<std::size_t>(i)];
    recorder.sample(lone_metric, "", call.time_s);
    recorder.sample(launch_metric, "", call.launch_s);
    if (group.rank != 0 || !one_clock) continue;
    recorder.sample(start_skew_metric, "", width(all.select(1, 3 + count + i)));
    recorder.sample(end_skew_metric, "", width(all.select(1, 3 + 2 * count + i)));
  }
  if (group.rank == 0 && one_clock) {
    recorder.sample(skew_error_metric, "", largest(all.select(1, 1)));
  }
}

}  // namespace assay::collective
