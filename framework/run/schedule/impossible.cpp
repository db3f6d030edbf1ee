#include "run/schedule/impossible.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "statistics/quantiles.h"

namespace assay::run {

namespace {

constexpr double margin = 1.1;
constexpr double caches = 4;
// Of a CPU: it fetches the lines that a copy writes, too, which a copy does not count, so that what
// only reads may be faster; and `assay calibrate` keeps its products small.
constexpr double slack_of_a_cpu = 1.5;

bool measures_ceilings(const store::Parameters& parameters) {
  const std::string workload = store::text_of(parameters, "workload");
  return workload == "copy" || workload == "matmul";
}

std::optional<double> count_of(const store::CaseResult& result, const store::Series& time,
                               const char* metric) {
  for (const store::Series& series : result.series) {
    const bool is_it = series.pass == time.pass && series.metric == metric && series.part.empty() &&
                       series.rank == time.rank && series.samples.size() == 1;
    if (is_it) return series.samples.front();
  }
  return std::nullopt;
}

bool reach_the_memory(const store::CaseResult& result, const std::string& pass, double bytes) {
  const auto timing = result.facts.timing.find(pass);
  if (timing == result.facts.timing.end()) return false;
  const store::CacheFacts& cache = timing->second.cache;
  if (cache.policy == "flush") return true;
  const auto held = static_cast<double>(cache.cache_bytes.value_or(0));
  return held > 0 && bytes >= caches * held;
}

// Seconds that one call takes at least; 0: nothing is known.
struct Least {
  double s = 0;
  std::string why;
};

Least least_time(const store::CaseResult& result, const store::Series& time,
                 const DeviceCeilings& ceiling) {
  Least least;
  const auto bytes = count_of(result, time, "bytes");
  const double allowed = margin * (ceiling.device == "cpu" ? slack_of_a_cpu : 1);
  if (bytes && ceiling.bytes_per_s > 0 && reach_the_memory(result, time.pass, *bytes)) {
    least = {*bytes / (ceiling.bytes_per_s * allowed),
             fmt::format("{} at {}/s", human_size(static_cast<std::int64_t>(*bytes)),
                         human_size(static_cast<std::int64_t>(ceiling.bytes_per_s)))};
  }
  const auto flops = count_of(result, time, "flops");
  if (flops && ceiling.flops_per_s > 0) {
    const double s = *flops / (ceiling.flops_per_s * allowed);
    if (s > least.s) {
      least = {s, fmt::format("{:.3g} FLOP at {:.3g} FLOP/s", *flops, ceiling.flops_per_s)};
    }
  }
  return least;
}

}  // namespace

void mark_impossible(const std::vector<DeviceCeilings>& ceilings, store::CaseResult& result) {
  const auto ceiling = std::ranges::find(ceilings, store::text_of(result.parameters, "device"),
                                         &DeviceCeilings::device);
  if (ceiling == ceilings.end() || result.outcome != Outcome::ok) return;
  if (measures_ceilings(result.parameters)) return;
  const auto calls = static_cast<double>(std::max<std::int64_t>(
      1, store::integer_of(result.parameters, "measure.calls_per_sample", 1)));
  for (const store::Series& time : result.series) {
    const bool is_time = time.metric == "time" && time.part.empty() &&
                         time.outcome == Outcome::ok && !time.samples.empty();
    if (!is_time || result.facts.discarded.contains(time.pass)) continue;
    const double call_s = statistics::median(time.samples) / calls;
    const Least least = least_time(result, time, *ceiling);
    if (call_s >= least.s) continue;
    result.facts.marks.push_back(
        {"impossible", time.pass,
         fmt::format("{} is less than this machine needs for {} ({}), by a tenth and more",
                     human_duration(call_s), least.why, ceiling->run)});
    result.facts.discarded[time.pass] = "impossible";
  }
}

}  // namespace assay::run
