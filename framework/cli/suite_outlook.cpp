#include "cli/suite_outlook.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "statistics/summary.h"

namespace assay::cli {

namespace {

store::Parameters without_settings(store::Parameters parameters) {
  std::erase_if(parameters, [](const auto& parameter) {
    return parameter.first.starts_with("measure.") || parameter.first == "repeat";
  });
  return parameters;
}

double calls_per_sample(const store::Parameters& parameters) {
  return static_cast<double>(store::integer_of(parameters, "measure.calls_per_sample", 1));
}

// Calls of a pass: those before the first sample, and those of the samples.
double calls(const store::Parameters& parameters, std::int64_t samples_with_target) {
  const bool has_target = store::number_of(parameters, "measure.target", 0) > 0;
  const std::int64_t samples =
      has_target ? samples_with_target
                 : store::integer_of(parameters, "measure.samples", samples_with_target);
  return static_cast<double>(store::integer_of(parameters, "measure.warmup", 0)) +
         static_cast<double>(samples) * calls_per_sample(parameters);
}

}  // namespace

SuiteOutlook outlook_of(const PlannedSuite& suite, const run::Work& work, const WallTimes& times,
                        const std::set<std::string>& done) {
  SuiteOutlook outlook;
  const store::SuiteRecord record = work.described(suite.record, suite.chapter_plans());
  for (const store::ChapterRecord& chapter : record.chapters) {
    if (chapter.name.empty()) continue;
    ++outlook.chapters;
    if (!chapter.left.empty()) outlook.left.push_back(chapter.name + ": " + chapter.left);
  }
  std::vector<std::string> keys;
  for (std::size_t item = 0; item < work.size(); ++item) {
    if (!work.chosen(item)) continue;
    ++outlook.cases;
    if (work.chapters_of(item).size() > 1) ++outlook.shared;
    std::string key = work.key(item);
    if (done.contains(key)) {
      ++outlook.done;
    } else {
      keys.push_back(std::move(key));
    }
  }
  for (const auto& [key, seconds] : times(keys)) {
    ++outlook.known;
    outlook.seconds += seconds;
  }
  return outlook;
}

std::string estimated_time(std::size_t rest, std::size_t known, double seconds) {
  const std::size_t unknown = rest - known;
  std::string text = "estimated time: ";
  if (rest == 0) {
    text += "none, all cases have a result";
  } else if (known == 0) {
    text += fmt::format("unknown, no earlier run measured {}",
                        rest == 1 ? "its case" : fmt::format("any of {} cases", rest));
  } else {
    text += fmt::format("{} for {} that earlier runs measured", human_duration(seconds),
                        counted(known, "case", "cases"));
    if (unknown > 0) text += fmt::format("; {} unknown", counted(unknown, "case is", "cases are"));
  }
  return text + "\n";
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
      const double change = calls(parameters, samples) - calls(result.parameters, samples);
      const double call_s =
          statistics::summarise(series.samples).median / calls_per_sample(result.parameters);
      if (std::isfinite(call_s)) seconds += change * call_s;
    }
    return std::max(seconds, 0.0);
  }
  return std::nullopt;
}

std::string estimated_time(const run::Work& work, const WallTimes& times,
                           const std::function<std::optional<store::Run>()>& earlier) {
  std::map<std::string, std::size_t> items;  // by key: equal cases are measured once
  std::vector<std::string> keys;
  for (std::size_t item = 0; item < work.size(); ++item) {
    if (items.try_emplace(work.key(item), item).second) keys.push_back(work.key(item));
  }
  double seconds = 0;
  const auto known = times(keys);
  for (const auto& [key, each] : known) {
    seconds += each;
    items.erase(key);
  }
  std::size_t similar = 0;
  double similar_s = 0;
  if (const auto run = items.empty() ? std::nullopt : earlier()) {
    for (const auto& [key, item] : items) {
      const auto each = seconds_by_similar(*run, work.resolved(item).request.parameters);
      if (!each) continue;
      ++similar;
      similar_s += *each;
    }
  }
  if (similar == 0) return estimated_time(keys.size(), known.size(), seconds);
  const std::size_t unknown = items.size() - similar;
  std::string text =
      fmt::format("estimated time: about {}: {}", human_duration(seconds + similar_s),
                  counted(similar, "case was", "cases were"));
  text += " measured earlier with other settings";
  if (!known.empty()) text += fmt::format(", {} with these", known.size());
  if (unknown > 0) text += fmt::format("; {} unknown", counted(unknown, "case is", "cases are"));
  return text + "\n";
}

std::string SuiteOutlook::text(const std::string& suite) const {
  std::string text =
      fmt::format("suite {}: {} of {}, {}", suite, chapters - left.size(),
                  counted(chapters, "chapter", "chapters"), counted(cases, "case", "cases"));
  if (shared > 0) text += fmt::format(", {} of them shared by several chapters", shared);
  text += "\n" + estimated_time(cases - done, known, seconds);
  for (const std::string& chapter : left) text += "left out: " + chapter + "\n";
  return text;
}

}  // namespace assay::cli
