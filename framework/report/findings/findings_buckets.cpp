#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "base/text.h"

#include "report/findings/findings.h"
#include "report/spec/numbers.h"
#include "statistics/line_fit.h"

namespace assay::report {
namespace {

constexpr std::string_view bucket_axis = "communication.bucket_size";
constexpr std::size_t least_sizes = 3;
// Below it calls explain too little of the times to predict from.
constexpr double least_r2 = 0.8;

// A step with one bucket size.
struct Bucketing {
  double calls = 0;            // n: all-reduces of a rank
  double bytes = 0;            // s: bytes that they reduce
  double communication_s = 0;  // how long some all-reduce was under way, mean of ranks
  double time_s = 0;           // of the step

  bool is_complete() const { return calls > 0 && bytes > 0 && communication_s > 0 && time_s > 0; }
};

struct Steps {
  std::uint32_t record = 0;
  std::map<double, Bucketing> by_size;  // bytes
};

double mean_of(const store::Series& series) {
  if (series.samples.empty()) return 0;
  return std::accumulate(series.samples.begin(), series.samples.end(), 0.0) /
         static_cast<double>(series.samples.size());
}

// By everything but the bucket size.
std::map<Key, Steps> steps_of(const Records& records, const RecordIds& ids, std::size_t axis) {
  std::map<Key, Steps> found;
  std::map<std::pair<Key, double>, double> ranks;
  const auto place = [&](std::uint32_t id) -> std::pair<Key, double> {
    return {rest_of(records, id, {axis, part_axis}), number_at(records, id, axis)};
  };
  for (const std::uint32_t id : ids) {
    const store::Series& series = *records[id].series;
    if (records.code(id, axis) == 0 || series.outcome != Outcome::ok) continue;
    const auto [key, size] = place(id);
    const auto added = found.try_emplace(key, Steps{id, {}}).first;
    Bucketing& step = added->second.by_size[size];
    const bool is_sum = series.part == "all_reduce";
    if (series.metric == "sent_calls" && is_sum) step.calls = mean_of(series);
    if (series.metric == "sent_bytes" && is_sum) step.bytes = mean_of(series);
    if (series.metric == "communication_time") {
      step.communication_s += mean_of(series);
      ++ranks[{key, size}];
    }
  }
  for (auto& [key, steps] : found) {
    for (auto& [size, step] : steps.by_size) step.communication_s /= ranks[{key, size}];
  }
  for (const Figure& figure : figures_of(records, ids, "time", Centre::mean)) {
    const auto [key, size] = place(figure.record);
    const auto steps = found.find(key);
    if (steps == found.end()) continue;
    const auto step = steps->second.by_size.find(size);
    if (step != steps->second.by_size.end()) step->second.time_s = figure.value;
  }
  return found;
}

std::string sentence(const std::string& subject, const std::map<double, Bucketing>& by_size) {
  std::vector<double> calls, times;
  double bytes = 0;
  auto best = by_size.begin();
  for (auto at = by_size.begin(); at != by_size.end(); ++at) {
    calls.push_back(at->second.calls);
    times.push_back(at->second.communication_s);
    bytes = std::max(bytes, at->second.bytes);
    if (at->second.time_s < best->second.time_s) best = at;
  }
  if (*std::min_element(calls.begin(), calls.end()) ==
      *std::max_element(calls.begin(), calls.end())) {
    return {};
  }
  const statistics::LineFit line = statistics::fit_line(calls, times);
  const auto mean = [](const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  };
  const double transfer_s = mean(times) - line.slope * mean(calls);
  const std::string measured = human_size(best->first);
  if (!(line.slope > 0) || !(transfer_s > 0)) {
    return fmt::format(
        "**Best bucket, {}**: the time of {} bucket sizes shows no overhead of a call; the fastest "
        "step has buckets of {}.",
        subject, by_size.size(), measured);
  }
  if (line.r2 < least_r2) {
    return fmt::format(
        "**Best bucket, {}**: the time of {} bucket sizes does not follow their calls (R² {:.2f}), "
        "so that none is predicted; the fastest step has buckets of {}.",
        subject, by_size.size(), line.r2, measured);
  }
  const double bandwidth = bytes / transfer_s;
  const double predicted = std::sqrt(bytes * line.slope * bandwidth);
  return fmt::format(
      "**Best bucket, {}**: a call costs {} µs and gradients are reduced at {} GB/s (R² "
      "{:.2f} over {} sizes), so that buckets of {} are best; measured, {} are.",
      subject, rounded_text(line.slope * 1e6), rounded_text(bandwidth / 1e9), line.r2,
      by_size.size(), human_size(predicted), measured);
}

}  // namespace

std::vector<std::string> bucket_findings(const Records& records, const RecordIds& ids) {
  const auto axis = records.axis(bucket_axis);
  if (!axis) return {};
  std::vector<Steps> all;
  for (auto& [key, steps] : steps_of(records, ids, *axis)) {
    std::erase_if(steps.by_size, [](const auto& step) { return !step.second.is_complete(); });
    if (steps.by_size.size() >= least_sizes) all.push_back(std::move(steps));
  }
  std::sort(all.begin(), all.end(),
            [](const Steps& a, const Steps& b) { return a.record < b.record; });
  std::vector<std::string> sentences;
  for (const Steps& steps : all) {
    const std::string place = place_of(records, steps.record, {*axis});
    const std::string text = sentence(place.empty() ? "every case" : place, steps.by_size);
    if (!text.empty()) sentences.push_back(text);
  }
  return sentences;
}

}  // namespace assay::report
