#include "run/interleave/pass_by_pass.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

namespace assay::run {

namespace {

CaseEnd out_of_time(const ResolvedCase& resolved) {
  CaseEnd end;
  end.outcome = Outcome::timeout;
  end.reason = fmt::format("the case's {:.1f} s ran out before this pass", resolved.time_limit_s);
  return end;
}

void add_pass(CaseEnd& whole, CaseEnd part) {
  const bool worse = whole.outcome == Outcome::ok ||
                     (whole.outcome == Outcome::unsupported && part.outcome != Outcome::ok);
  if (worse && whole.outcome != part.outcome) {
    whole.outcome = part.outcome;
    whole.reason = std::move(part.reason);
  }
  std::move(part.series.begin(), part.series.end(), std::back_inserter(whole.series));
  add(whole.facts, part.facts);
  std::move(part.artefacts.begin(), part.artefacts.end(), std::back_inserter(whole.artefacts));
  whole.left_in.insert(whole.left_in.end(), part.left_in.begin(), part.left_in.end());
  whole.interrupted = part.interrupted;
}

}  // namespace

void complete_passes(const std::vector<std::string>& passes, CaseEnd& end) {
  if (end.outcome == Outcome::ok) return;
  for (const std::string& pass : passes) {
    if (end.find(pass, "time") != nullptr) continue;
    end.series.push_back({.pass = pass,
                          .metric = "time",
                          .unit = "s",
                          .outcome = end.outcome,
                          .reason = end.reason});
  }
}

CaseEnd measure_pass_by_pass(const ResolvedCase& resolved,
                             const std::function<CaseEnd(const ResolvedCase& one_pass)>& measure) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  CaseEnd whole;
  for (const std::string& pass : resolved.request.passes) {
    ResolvedCase one = resolved;
    one.request.passes = {pass};
    one.time_limit_s -= std::chrono::duration<double>(Clock::now() - start).count();
    CaseEnd end = one.time_limit_s > 0 ? measure(one) : out_of_time(resolved);
    complete_passes(one.request.passes, end);
    add_pass(whole, std::move(end));
    if (whole.interrupted) break;
  }
  return whole;
}

}  // namespace assay::run
