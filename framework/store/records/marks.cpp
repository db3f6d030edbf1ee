#include "store/records/marks.h"

#include <algorithm>
#include <iterator>

namespace assay::store {
namespace {

bool concerns(const Mark& mark, const Series& series) {
  if (mark.mark == simulated_nodes) return true;
  if (series.clock.empty()) return false;
  return mark.pass.empty() || (mark.pass == series.pass && series.metric == "time");
}

}  // namespace

std::optional<Mark> ended_after_measuring(const CaseResult& result) {
  if (result.outcome == Outcome::ok || result.series.empty()) return {};
  const bool in_a_series =
      std::any_of(result.series.begin(), result.series.end(),
                  [&](const Series& series) { return series.outcome == result.outcome; });
  if (in_a_series) return {};
  return Mark{std::string(to_text(result.outcome)), "",
              "after all was measured" + (result.reason.empty() ? "" : ": " + result.reason)};
}

bool is_unproven(const Mark& mark) {
  return mark.mark == self_timed || mark.mark == other_settings || mark.mark == not_looked_at;
}

const Mark* unproven(const std::vector<Mark>& marks) {
  const auto found = std::ranges::find_if(marks, is_unproven);
  return found == marks.end() ? nullptr : &*found;
}

std::vector<Mark> marks_of(const CaseResult& result, const Series& series) {
  std::vector<Mark> marks;
  std::ranges::copy_if(result.facts.marks, std::back_inserter(marks),
                       [&](const Mark& mark) { return concerns(mark, series); });
  if (auto end = ended_after_measuring(result); end && series.outcome == Outcome::ok)
    marks.push_back(std::move(*end));
  return marks;
}

std::optional<Mark> discarded_for(const CaseResult& result, const Series& series) {
  if (series.clock.empty()) return {};
  const auto word = result.facts.discarded.find(series.pass);
  if (word == result.facts.discarded.end()) return {};
  for (const Mark& mark : result.facts.marks) {
    if (mark.mark == word->second && concerns(mark, series)) return mark;
  }
  return {};
}

std::optional<Series> stand_in_for(const CaseResult& result, const Series& series) {
  const auto mark = series.outcome == Outcome::ok ? discarded_for(result, series) : std::nullopt;
  if (!mark) return {};
  Series stand_in = series;
  stand_in.samples.clear();
  stand_in.statistics.clear();
  stand_in.outcome = Outcome::skipped;
  stand_in.reason = "discarded: " + mark->reason;
  return stand_in;
}

}  // namespace assay::store
