#include "worker/pass/overlap.h"

#include <assay/mesh.h>

#include <algorithm>
#include <limits>
#include <map>
#include <string_view>

namespace assay::worker {

namespace {

using Stretch = std::pair<double, double>;  // begin and end, s

// Seconds that lie in at least one of them.
double covered_s(std::vector<Stretch> stretches) {
  std::sort(stretches.begin(), stretches.end());
  double covered = 0;
  double until = -std::numeric_limits<double>::infinity();
  for (const auto& [begin, end] : stretches) {
    const double from = std::max(begin, until);
    if (end > from) covered += end - from;
    until = std::max(until, end);
  }
  return covered;
}

}  // namespace

void add_overlap(const std::string& pass, const std::vector<measure::TracedSpan>& spans,
                 std::vector<store::Series>& series) {
  std::map<std::string, std::vector<Stretch>> by_lane;
  for (const measure::TracedSpan& span : spans) {
    by_lane[span.lane].emplace_back(span.start_s, span.start_s + span.duration_s);
  }
  const auto add = [&](const char* metric, const std::string& group, const char* unit,
                       double value) {
    series.push_back(
        {.pass = pass, .metric = metric, .part = group, .unit = unit, .samples = {value}});
  };
  for (const auto& [lane, waits] : by_lane) {
    if (!lane.ends_with(waits_lane)) continue;
    const std::string group = lane.substr(0, lane.size() - std::string_view(waits_lane).size());
    const auto collectives = by_lane.find(group);
    if (collectives == by_lane.end()) continue;
    const double under_way_s = covered_s(collectives->second);
    const double exposed_s = covered_s(waits);
    add("communication_time", group, "s", under_way_s);
    add("exposed_communication", group, "s", exposed_s);
    if (under_way_s <= 0) continue;
    add("hidden_communication", group, "", std::clamp(1 - exposed_s / under_way_s, 0.0, 1.0));
  }
}

}  // namespace assay::worker
