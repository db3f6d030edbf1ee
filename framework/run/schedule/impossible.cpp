#include "run/schedule/impossible.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

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

// How many of a call's bytes no cache can keep from the memory. A flush reads before the call: what
// the call writes may then stay in the cache, and the next flush writes it back.
double bytes_of_the_memory(const store::CaseResult& result, const std::string& pass, double bytes) {
  const auto timing = result.facts.timing.find(pass);
  if (timing == result.facts.timing.end()) return 0;
  const store::CacheFacts& cache = timing->second.cache;
  const auto held = static_cast<double>(cache.cache_bytes.value_or(0));
  if (held <= 0 || bytes < caches * held) return 0;
  return cache.policy == "flush" ? bytes - held : bytes;
}

// Whether calibrations multiply in what the case does: fp8, say, is faster than their dtypes.
bool has_a_calibrated_precision(const store::Parameters& parameters) {
  constexpr std::array<std::string_view, 7> calibrated = {
      "fp32", "tf32", "bf16", "bf16_master", "bf16_alone", "fp16", "fp16_master"};
  return std::ranges::count(calibrated, store::text_of(parameters, "precision")) > 0;
}

double let_pass(const DeviceCeilings& ceiling) {
  return margin * (ceiling.device == "cpu" ? slack_of_a_cpu : 1);
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
  const double allowed = let_pass(ceiling);
  const double moved = bytes ? bytes_of_the_memory(result, time.pass, *bytes) : 0;
  if (moved > 0 && ceiling.bytes_per_s > 0) {
    least = {moved / (ceiling.bytes_per_s * allowed),
             fmt::format("{} at {}/s", human_size(static_cast<std::int64_t>(moved)),
                         human_size(static_cast<std::int64_t>(ceiling.bytes_per_s)))};
  }
  const auto flops = count_of(result, time, "flops");
  if (flops && ceiling.flops_per_s > 0 && has_a_calibrated_precision(result.parameters)) {
    const double s = *flops / (ceiling.flops_per_s * allowed);
    if (s > least.s) {
      least = {s, fmt::format("{:.3g} FLOP at {:.3g} FLOP/s", *flops, ceiling.flops_per_s)};
    }
  }
  return least;
}

bool counts_work(const store::CaseResult& result, const store::Series& time) {
  return count_of(result, time, "bytes").value_or(0) > 0 ||
         count_of(result, time, "flops").value_or(0) > 0;
}

// Why a call cannot have taken so long, "" where it can.
std::string why_too_short(const store::CaseResult& result, const store::Series& time, double call_s,
                          const DeviceCeilings* ceiling) {
  if (call_s <= 0 && counts_work(result, time)) return "no call takes 0 s";
  if (ceiling == nullptr || measures_ceilings(result.parameters)) return {};
  const Least least = least_time(result, time, *ceiling);
  if (call_s >= least.s) return {};
  return fmt::format("{} is less than this machine needs for {} ({}), even if {:.0f} % faster",
                     human_duration(call_s), least.why, ceiling->run,
                     100 * (let_pass(*ceiling) - 1));
}

}  // namespace

void mark_impossible(const std::vector<DeviceCeilings>& ceilings, store::CaseResult& result) {
  if (result.outcome != Outcome::ok) return;
  const auto known = std::ranges::find(ceilings, store::text_of(result.parameters, "device"),
                                       &DeviceCeilings::device);
  const DeviceCeilings* const ceiling = known == ceilings.end() ? nullptr : &*known;
  const auto calls = static_cast<double>(std::max<std::int64_t>(
      1, store::integer_of(result.parameters, "measure.calls_per_sample", 1)));
  for (const store::Series& time : result.series) {
    const bool is_time = time.metric == "time" && time.part.empty() &&
                         time.outcome == Outcome::ok && !time.samples.empty();
    if (!is_time || result.facts.discarded.contains(time.pass)) continue;
    const double call_s = statistics::median(time.samples) / calls;
    std::string why = why_too_short(result, time, call_s, ceiling);
    if (why.empty()) continue;
    result.facts.marks.push_back({"impossible", time.pass, std::move(why)});
    result.facts.discarded[time.pass] = "impossible";
  }
}

}  // namespace assay::run
