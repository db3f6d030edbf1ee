#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>

#include "base/text.h"
#include "report/data/reduce.h"
#include "report/document/markdown_table.h"
#include "report/findings/pairs.h"
#include "statistics/median_interval.h"
#include "statistics/summary.h"

namespace assay::report {
namespace {

using Ranks = std::vector<const store::Series*>;

struct Cost {
  double ratio;      // of the medians: observed over timed
  double low, high;  // from the ends of both medians' intervals
  std::size_t steps;
  std::uint32_t record;
};

struct ObservedPass {
  std::string observer, pass;
  auto operator<=>(const ObservedPass&) const = default;
};

std::optional<Cost> cost_of(const Ranks& observed, const Ranks& timed, double calls,
                            std::uint32_t record) {
  const std::vector<double> with = over_ranks(observed, RankRule::maximum);
  const std::vector<double> without = over_ranks(timed, RankRule::maximum);
  const statistics::MedianInterval above = statistics::median_interval(with);
  statistics::MedianInterval below = statistics::median_interval(without);
  for (double* time : {&below.median, &below.low, &below.high}) *time /= calls;
  if (!(above.median > 0) || !(below.low > 0)) return std::nullopt;
  return Cost{above.median / below.median, above.low / below.high, above.high / below.low,
              with.size(), record};
}

// An observer that has not seen a pass, and why.
struct Unseen {
  Outcome outcome;
  std::string reason;
  std::set<std::uint32_t> cases;
};

std::string observed_pass(const std::string& pass) {
  return pass.empty() ? "a call" : escape_cell(pass);
}

Findings unseen_claims(const Records& records, const RecordIds& ids) {
  std::map<ObservedPass, std::vector<Unseen>> unseen;
  for (const std::uint32_t id : ids) {
    const store::Series& series = *records[id].series;
    if (series.metric != "observed_time" || series.outcome == Outcome::ok) continue;
    std::vector<Unseen>& known = unseen[{series.part, series.pass}];
    auto at = std::find_if(known.begin(), known.end(), [&](const Unseen& one) {
      return one.outcome == series.outcome && one.reason == series.reason;
    });
    if (at == known.end()) at = known.insert(at, {series.outcome, series.reason, {}});
    at->cases.insert(records[id].case_number);
  }
  Findings claims;
  for (const auto& [of, all] : unseen) {
    for (const Unseen& one : all) {
      claims.push_back({fmt::format("**{} has not seen {}**: {} in {}{}.", escape_cell(of.observer),
                                    observed_pass(of.pass), to_text(one.outcome),
                                    counted(one.cases.size(), "case", "cases"),
                                    one.reason.empty() ? "" : ": " + escape_cell(one.reason))});
    }
  }
  return claims;
}

// "**step is 1.3× slower under kernels** (1.2–1.4×)."
Finding observer_claim(const Records& records, const ObservedPass& of,
                       const std::vector<Cost>& costs) {
  std::vector<double> ratios;
  for (const Cost& cost : costs) ratios.push_back(cost.ratio);
  double low = costs.front().low, high = costs.front().high;
  std::size_t fewest = costs.front().steps, most = fewest;
  for (const Cost& cost : costs) {
    low = std::min(low, cost.low);
    high = std::max(high, cost.high);
    fewest = std::min(fewest, cost.steps);
    most = std::max(most, cost.steps);
  }
  const std::string place =
      costs.size() == 1 ? place_of(records, costs.front().record, {}) : std::string();
  const std::string cases = costs.size() == 1 ? "" : fmt::format(" in {} cases", costs.size());
  const std::string steps =
      fewest == most ? counted(most, "step", "steps") : fmt::format("{} to {} steps", fewest, most);
  return {fmt::format("**{} is {} under {}**{} ({}{}).", observed_pass(of.pass),
                      speed(1 / statistics::geometric_mean(ratios)), escape_cell(of.observer),
                      place.empty() ? "" : " at " + escape_cell(place),
                      speed_range(1 / high, 1 / low), cases),
          fmt::format(
              "**{} under {}**: {}from {}.", observed_pass(of.pass), escape_cell(of.observer),
              costs.size() == 1 ? "" : fmt::format("geometric mean of {} cases, ", costs.size()),
              steps)};
}

}  // namespace

Findings observer_findings(const Records& records, const RecordIds& ids) {
  struct OfCase {
    std::map<ObservedPass, Ranks> observed;
    std::map<std::string, Ranks> timed;
    std::uint32_t record = 0;
  };
  const auto is_measured = [](const store::Series& series) {
    return series.outcome == Outcome::ok && !series.samples.empty();
  };
  std::map<std::uint32_t, OfCase> cases;  // observed ones
  for (const std::uint32_t id : ids) {
    const store::Series& series = *records[id].series;
    if (series.metric != "observed_time" || !is_measured(series)) continue;
    OfCase& of_case = cases[records[id].case_number];
    of_case.observed[{series.part, series.pass}].push_back(&series);
    of_case.record = id;
  }
  for (const std::uint32_t id : ids) {
    if (cases.empty()) break;
    const store::Series& series = *records[id].series;
    if (series.metric != "time" || !series.part.empty() || !is_measured(series)) continue;
    const auto of_case = cases.find(records[id].case_number);
    if (of_case != cases.end()) of_case->second.timed[series.pass].push_back(&series);
  }
  std::map<ObservedPass, std::vector<Cost>> costs;
  for (const auto& [number, of_case] : cases) {
    for (const auto& [of, ranks] : of_case.observed) {
      const auto timed = of_case.timed.find(of.pass);
      if (timed == of_case.timed.end()) continue;
      const double calls = calls_per_sample(records[of_case.record].result->parameters);
      if (auto cost = cost_of(ranks, timed->second, calls, of_case.record)) {
        costs[of].push_back(*cost);
      }
    }
  }
  Findings claims;
  for (const auto& [of, found] : costs) claims.push_back(observer_claim(records, of, found));
  std::ranges::move(unseen_claims(records, ids), std::back_inserter(claims));
  return claims;
}

}  // namespace assay::report
