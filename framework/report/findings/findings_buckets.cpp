#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "base/text.h"
#include "report/data/all_reduces.h"
#include "report/findings/findings.h"
#include "report/spec/numbers.h"

namespace assay::report {
namespace {

constexpr std::string_view bucket_axis = "communication.bucket_size";
constexpr std::size_t least_sizes = 3;

// A step with one bucket size.
struct Bucketing {
  double bytes = 0;    // s: bytes that a rank's all-reduces sum
  double time_s = 0;   // of the step
  double error_s = 0;  // of that, standard

  bool is_complete() const { return bytes > 0 && time_s > 0; }
};
using BySize = std::map<double, Bucketing>;  // bytes of a bucket

struct Steps {
  std::uint32_t record = 0;
  BySize by_size;
};

double mean_of(const store::Series& series) {
  if (series.samples.empty()) return 0;
  return std::accumulate(series.samples.begin(), series.samples.end(), 0.0) /
         static_cast<double>(series.samples.size());
}

// By everything but the bucket size.
std::map<Key, Steps> steps_of(const Records& records, const RecordIds& ids, std::size_t axis) {
  std::map<Key, Steps> found;
  const auto place = [&](std::uint32_t id) -> std::pair<Key, double> {
    return {rest_of(records, id, {axis, part_axis}), number_at(records, id, axis)};
  };
  for (const std::uint32_t id : ids) {
    const store::Series& series = *records[id].series;
    if (records.code(id, axis) == 0 || series.outcome != Outcome::ok) continue;
    if (series.metric != "sent_bytes" || series.part != "all_reduce") continue;
    const auto [key, size] = place(id);
    found.try_emplace(key, Steps{id, {}}).first->second.by_size[size].bytes = mean_of(series);
  }
  for (const Figure& figure : figures_of(records, ids, "time", Centre::mean)) {
    const auto [key, size] = place(figure.record);
    const auto steps = found.find(key);
    if (steps == found.end()) continue;
    const auto step = steps->second.by_size.find(size);
    if (step == steps->second.by_size.end()) continue;
    step->second.time_s = figure.value;
    step->second.error_s = std::isnan(figure.error) ? 0 : figure.error;
  }
  return found;
}

BySize::const_iterator fastest(const BySize& by_size) {
  return std::ranges::min_element(by_size, {}, [](const auto& step) { return step.second.time_s; });
}

// "23.8 MiB are", "23.8 MiB are, and within the noise 9.5 MiB, 95 MiB".
std::string measured_words(const BySize& by_size) {
  const auto best = fastest(by_size);
  std::vector<std::string> others;
  for (auto at = by_size.begin(); at != by_size.end(); ++at) {
    const double noise_s = 2 * std::hypot(at->second.error_s, best->second.error_s);
    if (at == best || at->second.time_s - best->second.time_s > noise_s) continue;
    others.push_back(human_size(at->first));
  }
  const std::string words = human_size(best->first) + " are";
  if (others.empty()) return words;
  return fmt::format("{}, and within the noise {}", words, join(others, ", "));
}

// "; of the sizes measured 9.5 MiB is the nearest to it, and takes 1.02× as long", or "": it is the
// fastest.
std::string nearest_words(const BySize& by_size, double predicted) {
  const auto best = fastest(by_size);
  const auto nearest = std::ranges::min_element(
      by_size, {}, [&](const auto& step) { return std::abs(std::log(step.first / predicted)); });
  if (nearest->first == best->first) return {};
  return fmt::format("; of the sizes measured {} is the nearest to it, and takes {}× as long",
                     human_size(nearest->first),
                     rounded_text(nearest->second.time_s / best->second.time_s));
}

std::string why_none(const AllReduces* all_reduces) {
  if (all_reduces == nullptr) {
    return "no all_reduce of its backend and ranks is known (`assay calibrate all_reduce` measures "
           "some)";
  }
  return fmt::format("the all_reduces of {} do not tell what a call and a byte cost",
                     all_reduces->run);
}

std::string sentence(const std::string& subject, const BySize& by_size,
                     const AllReduces* all_reduces) {
  const auto cost = all_reduces ? call_cost_of(*all_reduces) : std::nullopt;
  if (!cost) {
    return fmt::format("**Best bucket, {}**: {}, so that none is predicted; measured, {}.", subject,
                       why_none(all_reduces), measured_words(by_size));
  }
  double bytes = 0;
  for (const auto& [size, step] : by_size) bytes = std::max(bytes, step.bytes);
  const double predicted = std::sqrt(bytes * cost->call_s / cost->byte_s);
  return fmt::format(
      "**Best bucket, {}**: an all_reduce costs {} µs and {} GB/s (within {} over {} sizes of {}), "
      "so that for {} buckets of {} are best; measured, {}{}.",
      subject, rounded_text(cost->call_s * 1e6), rounded_text(1e-9 / cost->byte_s),
      fmt::format("{:.0f} %", 100 * cost->deviation), all_reduces->times.size(), all_reduces->run,
      human_size(bytes), human_size(predicted), measured_words(by_size),
      nearest_words(by_size, predicted));
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
  std::ranges::sort(all, {}, &Steps::record);
  std::map<std::size_t, std::vector<AllReduces>> by_source;
  std::vector<std::string> sentences;
  for (const Steps& steps : all) {
    const std::string place = place_of(records, steps.record, {*axis});
    const std::size_t source = records.source_of(steps.record);
    if (!by_source.contains(source)) by_source[source] = records.all_reduces_for(source);
    sentences.push_back(
        sentence(place.empty() ? "every case" : place, steps.by_size,
                 find_all_reduces(by_source[source], records[steps.record].result->parameters)));
  }
  return sentences;
}

}  // namespace assay::report
