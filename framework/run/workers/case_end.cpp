#include "run/workers/case_end.h"

#include <algorithm>
#include <map>
#include <set>

namespace assay::run {

const store::Series* CaseEnd::find(const std::string& pass, const std::string& metric) const {
  const auto found =
      std::find_if(series.begin(), series.end(), [&](const store::Series& candidate) {
        return candidate.pass == pass && candidate.metric == metric;
      });
  return found == series.end() ? nullptr : &*found;
}

void drop_echoes(CaseEnd& end, std::size_t rank) {
  std::erase_if(end.series, [&](const store::Series& series) {
    return series.outcome != Outcome::ok && series.rank != static_cast<int>(rank);
  });
  // The case's reason names the rank.
  for (store::Series& series : end.series) {
    if (series.outcome != Outcome::ok && end.reason.ends_with(": " + series.reason)) {
      series.reason = end.reason;
    }
  }
}

void drop_incomplete_passes(CaseEnd& end, std::size_t ranks) {
  std::vector<store::Series>& all = end.series;
  std::map<std::string, std::set<int>> reported;
  for (const store::Series& series : all) {
    if (series.metric == "time" && series.outcome == Outcome::ok) {
      reported[series.pass].insert(series.rank);
    }
  }
  std::erase_if(all, [&](const store::Series& series) {
    const auto by = reported.find(series.pass);
    return series.outcome == Outcome::ok && by != reported.end() && by->second.size() < ranks;
  });
}

}  // namespace assay::run
