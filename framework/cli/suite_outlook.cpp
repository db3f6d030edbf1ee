#include "cli/suite_outlook.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "cli/planned_calls.h"
#include "statistics/summary.h"

namespace assay::cli {

namespace {

store::Parameters without_settings(store::Parameters parameters) {
  std::erase_if(parameters, [](const auto& parameter) {
    return parameter.first.starts_with("measure.") || parameter.first == "repeat";
  });
  return parameters;
}

using ItemsByKey = std::map<std::string, std::size_t>;  // equal cases are measured once

// Takes out of `items` those that earlier runs measured.
void add_measured(ItemsByKey& items, const KnownTimes& times, TimeEstimate& estimate) {
  std::vector<std::string> keys;
  for (const auto& [key, item] : items) keys.push_back(key);
  estimate.cases = keys.size();
  for (const auto& [key, seconds] : times.measured(keys)) {
    ++estimate.known;
    estimate.seconds += seconds;
    items.erase(key);
  }
}

// Takes out of `items` those of which `seconds_of` knows something.
std::size_t add_each(ItemsByKey& items, const run::Work& work, TimeEstimate& estimate,
                     const std::function<std::optional<double>(const run::ResolvedCase&)>& of) {
  return std::erase_if(items, [&](const auto& entry) {
    const auto seconds = of(work.resolved(entry.second));
    estimate.seconds += seconds.value_or(0);
    return seconds.has_value();
  });
}

}  // namespace

std::string TimeEstimate::text() const {
  const std::size_t estimated = known + similar + bounded;
  std::string text = "estimated time: ";
  if (cases == 0) return text + "none, all cases have a result\n";
  if (estimated == 0) {
    return text + fmt::format("unknown, no earlier run measured {}\n",
                              cases == 1 ? "its case" : fmt::format("any of {} cases", cases));
  }
  if (estimated == known) {
    text += fmt::format("{} for {} that earlier runs measured", human_duration(seconds),
                        counted(known, "case", "cases"));
  } else {
    std::vector<std::string> parts;
    if (similar > 0) {
      parts.push_back(counted(similar, "case was", "cases were") +
                      " measured earlier with other settings");
      if (known > 0) parts.back() += fmt::format(", {} with these", known);
    } else if (known > 0) {
      parts.push_back(counted(known, "case was", "cases were") + " measured earlier");
    }
    if (bounded > 0) {
      parts.push_back(counted(bounded, "case takes", "cases take") +
                      " at least what counts over this machine's ceilings say");
    }
    text += fmt::format("{} {}: {}", bounded > 0 ? "at least" : "about", human_duration(seconds),
                        join(parts, ", "));
  }
  const std::size_t unknown = cases - estimated;
  if (unknown > 0) text += fmt::format("; {} unknown", counted(unknown, "case is", "cases are"));
  return text + "\n";
}

SuiteOutlook outlook_of(const PlannedSuite& suite, const run::Work& work, const KnownTimes& times,
                        const std::set<std::string>& done) {
  SuiteOutlook outlook;
  const store::SuiteRecord record = work.described(suite.record, suite.chapter_plans());
  for (const store::ChapterRecord& chapter : record.chapters) {
    if (chapter.name.empty()) continue;
    ++outlook.chapters;
    if (!chapter.left.empty()) outlook.left.push_back(chapter.name + ": " + chapter.left);
  }
  ItemsByKey items;
  for (std::size_t item = 0; item < work.size(); ++item) {
    if (!work.chosen(item)) continue;
    ++outlook.cases;
    if (work.chapters_of(item).size() > 1) ++outlook.shared;
    std::string key = work.key(item);
    if (done.contains(key)) {
      ++outlook.done;
    } else {
      items.try_emplace(std::move(key), item);
    }
  }
  add_measured(items, times, outlook.time);
  if (times.at_least) outlook.time.bounded = add_each(items, work, outlook.time, times.at_least);
  return outlook;
}

std::optional<double> seconds_by_similar(const store::Run& earlier,
                                         const store::Parameters& parameters) {
  const store::Parameters wanted = without_settings(parameters);
  for (const store::CaseResult& result : earlier.cases) {
    if (!(result.wall_s > 0) || result.outcome != Outcome::ok) continue;
    if (without_settings(result.parameters) != wanted) continue;
    double seconds = result.wall_s;
    for (const store::Series& series : result.series) {
      if (series.metric != "time" || !series.part.empty() || series.rank != 0) continue;
      const auto samples = static_cast<std::int64_t>(series.samples.size());
      const double change =
          calls_of_pass(parameters, samples) - calls_of_pass(result.parameters, samples);
      const double call_s =
          statistics::summarise(series.samples).median / calls_per_sample(result.parameters);
      if (std::isfinite(call_s)) seconds += change * call_s;
    }
    return std::max(seconds, 0.0);
  }
  return std::nullopt;
}

TimeEstimate estimated_time(const run::Work& work, const KnownTimes& times,
                            const std::function<std::optional<store::Run>()>& earlier) {
  ItemsByKey items;
  for (std::size_t item = 0; item < work.size(); ++item) items.try_emplace(work.key(item), item);
  TimeEstimate estimate;
  add_measured(items, times, estimate);
  if (const auto run = items.empty() ? std::nullopt : earlier()) {
    estimate.similar = add_each(items, work, estimate, [&](const run::ResolvedCase& resolved) {
      return seconds_by_similar(*run, resolved.request.parameters);
    });
  }
  if (times.at_least) estimate.bounded = add_each(items, work, estimate, times.at_least);
  return estimate;
}

std::string SuiteOutlook::text(const std::string& suite) const {
  std::string text =
      fmt::format("suite {}: {} of {}, {}", suite, chapters - left.size(),
                  counted(chapters, "chapter", "chapters"), counted(cases, "case", "cases"));
  if (shared > 0) text += fmt::format(", {} of them shared by several chapters", shared);
  text += "\n" + time.text();
  for (const std::string& chapter : left) text += "left out: " + chapter + "\n";
  return text;
}

}  // namespace assay::cli
