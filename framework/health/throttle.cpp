#include "health/throttle.h"

#include <fmt/format.h>

#include "base/text.h"
#include "health/summary.h"

namespace assay::health {
namespace {

// Words for a sentence. A hardware slowdown alone is one whose cause the driver does not tell.
constexpr std::array<std::pair<std::uint64_t, std::string_view>, 5> held_by{{
    {clock_reason::power_cap, "its power limit"},
    {clock_reason::software_thermal, "heat (software slowdown)"},
    {clock_reason::hardware_thermal, "heat (hardware slowdown)"},
    {clock_reason::power_brake, "the power brake of its supply"},
    {clock_reason::hardware_slowdown, "a hardware slowdown"},
}};

// Of a case's time: a smaller share hardly changes its times.
constexpr double least_share = 0.01;

void count(const Reading& reading, int device, bool only_harmful, ReasonCounts& counts) {
  for (const GpuReading& gpu : reading.gpus) {
    if (gpu.device != device || !gpu.clock_reasons) continue;
    ++counts.readings;
    const std::uint64_t reasons = only_harmful ? harmful(*gpu.clock_reasons) : *gpu.clock_reasons;
    for (const auto& [name, bit] : reason_names) {
      if ((reasons & bit) != 0) ++counts.with[bit];
    }
  }
}

}  // namespace

ReasonCounts count_reasons(const Observation& observation, int device) {
  ReasonCounts counts;
  for (const Reading& reading : observation.readings) count(reading, device, false, counts);
  return counts;
}

std::uint64_t harmful(std::uint64_t reasons) {
  using namespace clock_reason;
  if ((reasons & idle) != 0) return 0;
  std::uint64_t kept = reasons & (power_cap | software_thermal | hardware_thermal | power_brake);
  if ((kept & (hardware_thermal | power_brake)) == 0) kept |= reasons & hardware_slowdown;
  return kept;
}

std::string what_held_clocks(const Observation& observation, int device) {
  // The first reading shows the time before, such as the previous case.
  ReasonCounts counts;
  for (std::size_t i = 1; i < observation.readings.size(); ++i) {
    count(observation.readings[i], device, true, counts);
  }
  std::vector<std::string> parts;
  for (const auto& [bit, words] : held_by) {
    const auto at = counts.with.find(bit);
    if (at == counts.with.end()) continue;
    parts.push_back(fmt::format("{} ({} of {} readings)", words, at->second, counts.readings));
  }
  // The driver's counters, if it has them, show what falls between two readings.
  const auto add = [&](std::optional<double> GpuReading::*counter, std::uint64_t bits,
                       std::string_view words) {
    const bool seen = std::any_of(counts.with.begin(), counts.with.end(),
                                  [&](const auto& entry) { return (entry.first & bits) != 0; });
    const auto held_s = rise(observation, device, counter);
    if (seen || !held_s || *held_s <= least_share * observation.seconds) return;
    parts.push_back(fmt::format("{} ({:.3g} s of {:.3g} s)", words, *held_s, observation.seconds));
  };
  add(&GpuReading::held_by_power_s, clock_reason::power_cap, "its power limit");
  add(&GpuReading::held_by_heat_s,
      clock_reason::software_thermal | clock_reason::hardware_thermal |
          clock_reason::hardware_slowdown,
      "heat");
  return join(parts, " and ");
}

}  // namespace assay::health
