#include "cli/suite_outlook.h"

#include <fmt/format.h>

#include "base/text.h"

namespace assay::cli {

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

std::string estimated_time(const run::Work& work, const WallTimes& times) {
  std::set<std::string> keys;  // equal cases are measured once
  for (std::size_t item = 0; item < work.size(); ++item) keys.insert(work.key(item));
  double seconds = 0;
  const auto known = times({keys.begin(), keys.end()});
  for (const auto& [key, each] : known) seconds += each;
  return estimated_time(keys.size(), known.size(), seconds);
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
