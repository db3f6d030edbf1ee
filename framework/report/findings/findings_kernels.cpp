#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "report/data/ceilings.h"
#include "report/document/markdown_table.h"
#include "report/findings/findings.h"
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

std::string share_range(double low, double high) {
  const std::string most = fmt::format("{:.1f} %", 100 * high);
  return high - low < 5e-4 ? most : fmt::format("{:.1f} % to {}", 100 * low, most);
}

// One sentence for each pass and precision.
std::vector<std::string> leader_sentences(const Records& records,
                                          const std::map<CaseAndPass, Leader>& leaders) {
  std::map<std::pair<std::string, std::string>, std::map<std::string, std::vector<double>>> found;
  for (const auto& [of, leader] : leaders) {
    const auto& parameters = records[leader.record].result->parameters;
    found[{of.second, store::text_of(parameters, "precision")}][leader.kernel].push_back(
        leader.share);
  }
  std::vector<std::string> sentences;
  for (const auto& [of, kernels] : found) {
    const auto most = std::ranges::max_element(
        kernels, {}, [](const auto& kernel) { return kernel.second.size(); });
    std::size_t cases = 0;
    for (const auto& [kernel, shares] : kernels) cases += shares.size();
    const auto [low, high] = std::ranges::minmax(most->second);
    const std::string precision = of.second.empty() ? "" : ", " + of.second;
    const std::string where =
        cases == 1 ? "" : fmt::format(" in {} of {} cases", most->second.size(), cases);
    sentences.push_back(fmt::format("**kernels**: {}{}: {} has the most time{}, {}.",
                                    escape_cell(of.first), escape_cell(precision),
                                    escape_cell(most->first), where, share_range(low, high)));
  }
  return sentences;
}

std::vector<std::string> optimizer_sentences(const std::map<CaseAndPass, Leader>& leaders) {
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
    return {
        fmt::format("**kernels**: with the optimizer the same kernel leads as in forward and "
                    "backward, in {} case{}.",
                    cases, cases == 1 ? "" : "s")};
  }
  return {
      fmt::format("**kernels**: with the optimizer another kernel leads than in forward and "
                  "backward in {} of {} cases, such as {}.",
                  others, cases, escape_cell(kernel))};
}

// Medians of the whole pass by metric.
struct Times {
  double timer = 0, profiler = 0, busy = 0, host = 0;
  std::uint32_t record = 0;
};

std::map<CaseAndPass, Times> times_of(const Records& records, const RecordIds& ids) {
  std::map<CaseAndPass, Times> times;
  for (const std::uint32_t id : ids) {
    const store::Series& series = *records[id].series;
    if (series.outcome != Outcome::ok || series.samples.empty() || series.rank != 0) {
      continue;
    }
    Times& of = times[{records[id].case_number, series.pass}];
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

std::vector<std::string> timer_sentences(const Records& records,
                                         const std::map<CaseAndPass, Times>& times) {
  std::map<std::string, std::vector<const Times*>> by_pass;
  for (const auto& [of, each] : times) by_pass[of.second].push_back(&each);
  const auto off = [](const Times* each) { return each->profiler / each->timer - 1; };
  std::vector<std::string> sentences;
  for (const auto& [pass, all] : by_pass) {
    const auto count = std::ranges::count_if(
        all, [&](const Times* each) { return std::abs(off(each)) > close_enough; });
    const std::string subject =
        fmt::format("**profiler**: {} takes", pass.empty() ? "a call" : escape_cell(pass));
    if (count == 0) {
      sentences.push_back(fmt::format("{} as long as by the timer, within {:.0f} %, in {} case{}.",
                                      subject, 100 * close_enough, all.size(),
                                      all.size() == 1 ? "" : "s"));
      continue;
    }
    const Times& most =
        **std::ranges::max_element(all, {}, [&](const Times* each) { return std::abs(off(each)); });
    const std::string place = place_of(records, most.record, {});
    sentences.push_back(fmt::format(
        "{} {:.3g} × the timer's time{}{}: no kernel runs in {:.1f} % of it, waiting for the host "
        "in {:.1f} %; the kernels alone take {:.3g} × the timer's time.",
        subject, most.profiler / most.timer,
        all.size() == 1 ? ""
                        : fmt::format(" at the farthest of {} beyond {:.0f} % (of {} cases)", count,
                                      100 * close_enough, all.size()),
        place.empty() ? "" : ", " + escape_cell(place), 100 * (1 - most.busy / most.profiler),
        100 * most.host / most.profiler, most.busy / most.timer));
  }
  return sentences;
}

std::vector<std::string> unclassified_sentences(const Records& records, const RecordIds& ids) {
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
  return {fmt::format("**kernels**: up to {:.1f} % of the kernels' time is in no class{}.",
                      100 * most, place.empty() ? "" : " (" + escape_cell(place) + ")")};
}

}  // namespace

std::vector<std::string> kernel_findings(const Records& records, const RecordIds& ids) {
  const auto leaders = leaders_of(records, ids);
  std::vector<std::string> sentences = leader_sentences(records, leaders);
  std::ranges::move(optimizer_sentences(leaders), std::back_inserter(sentences));
  std::ranges::move(timer_sentences(records, times_of(records, ids)),
                    std::back_inserter(sentences));
  std::ranges::move(unclassified_sentences(records, ids), std::back_inserter(sentences));
  return sentences;
}

}  // namespace assay::report
