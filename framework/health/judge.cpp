#include "health/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/text.h"
#include "health/summary.h"
#include "health/throttle.h"
#include "statistics/median_interval.h"
#include "statistics/sample_order.h"

namespace assay::health {
namespace {

// What ten samples, the usual number, know of a steady pass: their interval reaches 1.3 standard
// deviations, and calls that the host launches one by one deviate by up to 6 %.
constexpr double widest = 0.10;
constexpr double least_quota_share = 0.01;  // of the case's time

// The most processes of unknown owner at a time: a worker that replaces another adds none.
int most_unknown(const Observation& observation, int device) {
  std::ptrdiff_t most = 0;
  const auto look = [&](const GpuReading& gpu) {
    if (gpu.device != device || !gpu.processes) return;
    most = std::max(most, std::count_if(gpu.processes->begin(), gpu.processes->end(),
                                        [](const GpuProcess& process) {
                                          return process.owner == GpuProcess::Owner::unknown;
                                        }));
  };
  for (const GpuReading& gpu : observation.processes_before) look(gpu);
  for (const Reading& reading : observation.readings) {
    for (const GpuReading& gpu : reading.gpus) look(gpu);
  }
  return static_cast<int>(most);
}

// "python (pid 12) and 2 processes of other containers", or "".
std::string strangers(const Observation& observation, int device, int ours) {
  std::vector<std::string> names;
  int known_ours = 0;
  int unknown = most_unknown(observation, device);
  for (const GpuProcess& process : processes_on(observation, device)) {
    if (process.owner == GpuProcess::Owner::us) ++known_ours;
    if (process.owner != GpuProcess::Owner::others) continue;
    names.push_back(
        fmt::format("{} (pid {})", process.name.empty() ? "a process" : process.name, process.pid));
  }
  // Ours may be among those of unknown owner.
  unknown -= std::max(0, ours - known_ours);
  if (unknown == 1) names.push_back("a process of another container");
  if (unknown > 1) names.push_back(fmt::format("{} processes of other containers", unknown));
  return join(names, " and ");
}

// "" for a narrow interval. Of too few samples their spread is the least the interval can be.
std::string why_wide(const std::vector<double>& times) {
  const statistics::MedianInterval known = statistics::median_interval(times);
  const double reach = known.relative_reach();
  if (!std::isfinite(reach) || reach <= widest) return {};
  if (known.at_level) {
    return fmt::format(
        "the median of {} samples is known to ± {:.1f} % (95 % interval), not to {:.0f} %",
        times.size(), reach * 100, widest * 100);
  }
  return fmt::format(
      "{} samples, too few for a 95 % interval, lie ± {:.1f} % around their median, not {:.0f} %",
      times.size(), reach * 100, widest * 100);
}

void judge_gpu(const Observation& observation, const Needs& needs, int device,
               std::vector<store::Mark>& marks) {
  if (const std::string held = what_held_clocks(observation, device); !held.empty()) {
    marks.push_back(
        {"throttled", "", fmt::format("the clocks of GPU {} were held down by {}", device, held)});
  }
  if (const std::string who = strangers(observation, device, needs.processes); !who.empty()) {
    marks.push_back({"shared", "", fmt::format("GPU {} was also used by {}", device, who)});
  }
}

void judge_cpu(const Observation& observation, const Needs& needs,
               std::vector<store::Mark>& marks) {
  const CpuWork work = cpu_work(observation);
  if (work.thermal_events.value_or(0) > 0) {
    marks.push_back({"throttled", "",
                     fmt::format("heat slowed the cores down {} time{}", *work.thermal_events,
                                 *work.thermal_events == 1 ? "" : "s")});
  }
  if (work.quota_s.value_or(0) > least_quota_share * observation.seconds) {
    marks.push_back(
        {"throttled", "",
         fmt::format("the CPU quota of its control group stopped it for {:.3g} s", *work.quota_s)});
  }
  const double others = work.others_cores.value_or(0);
  const double stolen = work.stolen_cores.value_or(0);
  if (others + stolen <= harmless_cores(needs)) return;
  std::vector<std::string> takers;
  if (others > 0) takers.push_back(fmt::format("other programs used {:.2f}", others));
  if (stolen > 0.005) takers.push_back(fmt::format("other virtual machines {:.2f}", stolen));
  marks.push_back(
      {"busy", "", fmt::format("{} of {} cores", join(takers, " and "), needs.cores_there)});
}

// The slowest rank of each sample, as in reports; rank 0 where the numbers of samples differ.
std::map<std::string, std::vector<double>> times_by_pass(const std::vector<store::Series>& series) {
  std::map<std::string, std::vector<double>> passes;
  for (const store::Series& of_rank : series) {
    const bool is_time = of_rank.metric == "time" && of_rank.part.empty() &&
                         !of_rank.clock.empty() && of_rank.outcome == Outcome::ok;
    if (!is_time) continue;
    const auto [at, added] = passes.try_emplace(of_rank.pass, of_rank.samples);
    std::vector<double>& slowest = at->second;
    if (added || slowest.size() != of_rank.samples.size()) continue;
    for (std::size_t i = 0; i < slowest.size(); ++i) {
      slowest[i] = std::max(slowest[i], of_rank.samples[i]);
    }
  }
  return passes;
}

}  // namespace

double harmless_cores(const Needs& needs) {
  const double idle = std::max(0.0, needs.cores_there - needs.cores);
  return std::max({0.25, 0.02 * needs.cores, 0.5 * idle});
}

std::vector<store::Mark> judge(const Observation& observation, const Needs& needs) {
  std::vector<store::Mark> marks;
  for (const int device : needs.devices) judge_gpu(observation, needs, device, marks);
  judge_cpu(observation, needs, marks);
  return marks;
}

std::vector<store::Mark> judge_samples(const std::vector<store::Series>& series) {
  std::vector<store::Mark> marks;
  for (const auto& [pass, times] : times_by_pass(series)) {
    const statistics::SampleOrder order = statistics::examine_order(times);
    if (order.drifting) {
      marks.push_back(
          {"drifting", pass,
           fmt::format("from the first third of the samples to the last the times {} by "
                       "{:.1f} % (trend at p = {:.2g})",
                       order.drift > 0 ? "rose" : "fell", std::abs(order.drift) * 100,
                       order.trend_p)});
    }
    if (const std::string reason = why_wide(times); !reason.empty()) {
      marks.push_back({"wide", pass, reason});
    }
  }
  return marks;
}

}  // namespace assay::health
