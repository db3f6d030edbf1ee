#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "health/watch.h"

namespace assay::health {

// Names in a case's context.
inline constexpr std::array<std::pair<std::string_view, std::uint64_t>, 9> reason_names{{
    {"idle", clock_reason::idle},
    {"application_clocks", clock_reason::application_clocks},
    {"power_cap", clock_reason::power_cap},
    {"hardware_slowdown", clock_reason::hardware_slowdown},
    {"sync_boost", clock_reason::sync_boost},
    {"software_thermal", clock_reason::software_thermal},
    {"hardware_thermal", clock_reason::hardware_thermal},
    {"power_brake", clock_reason::power_brake},
    {"display_clocks", clock_reason::display_clocks},
}};

struct ReasonCounts {
  std::size_t readings = 0;                   // with any information on reasons
  std::map<std::uint64_t, std::size_t> with;  // by bit
};
ReasonCounts count_reasons(const Observation& observation, int device);

// The reasons that slow a GPU down. Chosen settings and an idle GPU's low clocks do no harm.
std::uint64_t harmful(std::uint64_t reasons);

// What held the GPU's clocks down after the first reading: "its power limit (12 of 40 readings) and
// heat (3 of 40 readings)", or "".
std::string what_held_clocks(const Observation& observation, int device);

}  // namespace assay::health
