#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/text.h"
#include "report/data/ceilings.h"
#include "report/document/markdown_table.h"
#include "report/findings/pairs.h"
#include "report/spec/numbers.h"
#include "statistics/quantiles.h"

namespace assay::report {
namespace {

constexpr double close_enough = 0.03;  // of the profiler's time to the timer's

struct Leader {
  std::string kernel;
  double share = 0;
  std::uint32_t record = 0;
};

using CaseAndPass = std::pair<std::uint32_t, std::string>;

// The kernel with the most time, by case and pass.
std::map<CaseAndPass, Leader> leaders_of(const Records& records, const RecordIds& ids) {
  std::map<CaseAndPass, Leader> leaders;
  for (const std::uint32_t id : ids) {
    const store::Series& series = *records[id].series;
    if (series.metric != "kernel_share" || series.samples.empty()) continue;
    Leader& leader = leaders[{records[id].case_number, series.pass}];
    if (series.samples.front() > leader.share) leader = {series.part, series.samples.front(), id};
  }
  return leaders;
}

std::string percent(double share) { return rounded_text(100 * share, 2) + " %"; }

std::string share_range(double low, double high) {
  const std::string most = percent(high);
  return percent(low) == most ? most : fmt::format("{}–{}", rounded_text(100 * low, 2), most);
}

// "multi_tensor_apply_kernel<…>" of a function with its return type, namespaces and arguments; a
// name without them is cut.
std::string short_kernel(const std::string& kernel) {
  constexpr std::string_view unnamed = "(anonymous namespace)::";
  constexpr std::size_t longest = 48;
  std::string name = kernel;
  for (auto at = name.find(unnamed); at != std::string::npos; at = name.find(unnamed)) {
    name.erase(at, unnamed.size());
  }
  const std::size_t arguments = name.find_first_of("<(");
  const bool is_function = arguments != std::string::npos && arguments > 0;
  if (is_function) {
    name.resize(arguments);
    name.erase(0, name.find_last_of(" :") + 1);
  }
  if (name.size() > longest) return name.substr(0, longest) + "…";
  return is_function && !name.empty() ? name + "<…>" : is_function ? kernel : name;
}

// One claim for each pass and precision.
Findings leader_claims(const Records& records, const std::map<CaseAndPass, Leader>& leaders) {
  std::map<std::pair<std::string, std::string>, std::map<std::string, std::vector<double>>> found;
  for (const auto& [of, leader] : leaders) {
    const auto& parameters = records[leader.record].result->parameters;
    found[{of.second, store::text_of(parameters, "precision")}][leader.kernel].push_back(
        leader.share);
  }
  Findings claims;
  for (const auto& [of, kernels] : found) {
    const auto most = std::ranges::max_element(
        kernels, {}, [](const auto& kernel) { return kernel.second.size(); });
    std::size_t cases = 0;
    for (const auto& [kernel, shares] : kernels) cases += shares.size();
    const auto [low, high] = std::ranges::minmax(most->second);
    const std::string precision = of.second.empty() ? "" : ", " + of.second;
    const std::string name = short_kernel(most->first);
    const std::string where = cases == 1 ? ""
                              : cases == most->second.size()
                                  ? fmt::format(" in {} cases", cases)
                                  : fmt::format(" in {} of {} cases", most->second.size(), cases);
    claims.push_back({fmt::format("**{} has the most time**, {}{} ({}{}).", escape_cell(name),
                                  escape_cell(of.first), escape_cell(precision),
                                  share_range(low, high), where)});
    if (name == most->first) continue;
    claims.back().detail =
        fmt::format("**{}**, {}{}, is {}.", escape_cell(name), escape_cell(of.first),
                    escape_cell(precision), escape_cell(most->first));
  }
  return claims;
}

Findings optimizer_claims(const std::map<CaseAndPass, Leader>& leaders) {
  int cases = 0, others = 0;
  std::string kernel;
  for (const auto& [of, leader] : leaders) {
    const auto without = leaders.find({of.first, "forward_backward"});
    if (of.second != "train_step" || without == leaders.end()) continue;
    ++cases;
    if (without->second.kernel == leader.kernel) continue;
    ++others;
    kernel = leader.kernel;
  }
  if (cases == 0) return {};
  if (others == 0) {
    return {{fmt::format("**with the optimizer the same kernel leads** ({}).",
                         counted(static_cast<std::size_t>(cases), "case", "cases"))}};
  }
  return {{fmt::format("**with the optimizer another kernel leads**, such as {} ({} of {}).",
                       escape_cell(short_kernel(kernel)), others,
                       counted(static_cast<std::size_t>(cases), "case", "cases"))}};
}

// Medians of the whole pass by metric.
struct Times {
  double timer = 0, profiler = 0, busy = 0, host = 0;
  std::uint32_t record = 0;
};

// Of profiled passes.
std::map<CaseAndPass, Times> times_of(const Records& records, const RecordIds& ids) {
  std::map<CaseAndPass, Times> times;
  for (const std::uint32_t id : ids) {
    const store::Series& series = *records[id].series;
    if (series.metric == "profiled_time") times[{records[id].case_number, series.pass}];
  }
  if (times.empty()) return times;
  for (const std::uint32_t id : ids) {
    const store::Series& series = *records[id].series;
    if (series.outcome != Outcome::ok || series.samples.empty() || series.rank != 0) {
      continue;
    }
    const auto profiled = times.find({records[id].case_number, series.pass});
    if (profiled == times.end()) continue;
    Times& of = profiled->second;
    const double median = statistics::median(series.samples);
    if (series.metric == "profiled_time") of.profiler = median, of.record = id;
    if (series.metric == "busy_time") of.busy = median;
    if (series.metric == "idle_time" && series.part == "host") of.host = median;
    if (series.metric == "time" && series.part.empty()) {
      of.timer = median / calls_per_sample(records[id].result->parameters);
    }
  }
  std::erase_if(times, [](const auto& each) {
    return !(each.second.timer > 0) || !(each.second.profiler > 0);
  });
  return times;
}

// Of the case that is farthest off.
Finding profiler_claim(const Records& records, const std::string& pass, const Times& most,
                       std::size_t off, std::size_t cases) {
  const std::string place = place_of(records, most.record, {});
  Finding finding;
  finding.claim =
      fmt::format("**{} is {} profiled than timed**{}{}.", pass, speed(most.timer / most.profiler),
                  place.empty() ? "" : " at " + escape_cell(place),
                  cases == 1 ? "" : fmt::format(" ({} of {} cases differ)", off, cases));
  finding.detail = fmt::format(
      "**{} profiled**{}: no kernel runs in {} of the time, the host is waited for in {}; the "
      "kernels alone take {} of the timer's time.",
      pass, place.empty() ? "" : " at " + escape_cell(place),
      percent(1 - most.busy / most.profiler), percent(most.host / most.profiler),
      percent(most.busy / most.timer));
  return finding;
}

Findings profiler_claims(const Records& records, const std::map<CaseAndPass, Times>& times) {
  std::map<std::string, std::vector<const Times*>> by_pass;
  for (const auto& [of, each] : times) by_pass[of.second].push_back(&each);
  const auto off = [](const Times* each) { return std::abs(each->profiler / each->timer - 1); };
  Findings claims;
  for (const auto& [name, all] : by_pass) {
    const std::string pass = name.empty() ? "a call" : escape_cell(name);
    const auto count = static_cast<std::size_t>(
        std::ranges::count_if(all, [&](const Times* each) { return off(each) > close_enough; }));
    if (count > 0) {
      const Times& most = **std::ranges::max_element(all, {}, off);
      claims.push_back(profiler_claim(records, pass, most, count, all.size()));
    } else {
      claims.push_back(
          {fmt::format("**{} is as fast profiled as timed**, within {:.0f} % ({}).", pass,
                       100 * close_enough, counted(all.size(), "case", "cases"))});
    }
  }
  return claims;
}

Findings unclassified_claims(const Records& records, const RecordIds& ids) {
  double most = 0;
  std::uint32_t record = 0;
  for (const std::uint32_t id : ids) {
    const store::Series& series = *records[id].series;
    if (series.metric != "class_share" || series.part != "unclassified") continue;
    if (series.samples.empty() || series.samples.front() <= most) continue;
    most = series.samples.front();
    record = id;
  }
  if (most < 0.01) return {};
  const std::string place = place_of(records, record, {});
  return {{fmt::format("**up to {} of the kernels' time is in no class**{}.", percent(most),
                       place.empty() ? "" : " (" + escape_cell(place) + ")")}};
}

}  // namespace

Findings kernel_findings(const Records& records, const RecordIds& ids) {
  const auto leaders = leaders_of(records, ids);
  Findings claims = leader_claims(records, leaders);
  std::ranges::move(optimizer_claims(leaders), std::back_inserter(claims));
  std::ranges::move(profiler_claims(records, times_of(records, ids)), std::back_inserter(claims));
  std::ranges::move(unclassified_claims(records, ids), std::back_inserter(claims));
  return claims;
}

}  // namespace assay::report
