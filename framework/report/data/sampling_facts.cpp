#include "report/data/sampling_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "base/text.h"
#include "report/data/reduce.h"

namespace assay::report {
namespace {

constexpr std::size_t passes_named = 4;
constexpr double max_gap_share = 0.1;     // of a timing's calls
constexpr double max_clock_error = 0.01;  // of a call's time

struct TimedPass {
  const store::CaseResult* result = nullptr;
  std::string pass;
  const store::SamplingFacts* facts = nullptr;
  double call_s = 0;  // the median of its calls

  std::int64_t calls_per_sample() const { return facts->calls_per_sample.value_or(1); }
  std::int64_t batch() const { return facts->grouped_calls.value_or(1); }
  std::int64_t samples() const { return facts->samples.value_or(0); }
  double call_error_s() const { return facts->clock_facts.call_error_s.value_or(0); }
  double gap_share() const {
    const auto calls = static_cast<double>(facts->clock_facts.calls.value_or(0));
    const std::int64_t gaps = facts->clock_facts.calls_with_launch_gaps.value_or(0);
    return calls > 0 ? static_cast<double>(gaps) / calls : 0;
  }
};

double median_s(const store::CaseResult& result, const std::string& pass) {
  std::vector<const store::Series*> ranks;
  for (const store::Series& series : result.series) {
    if (series.metric != "time" || series.pass != pass || !series.part.empty()) continue;
    if (series.outcome == Outcome::ok) ranks.push_back(&series);
  }
  return ranks.empty() ? 0 : reduce(ranks, RankRule::maximum, Statistic::median).value_or(0);
}

std::vector<TimedPass> timed_passes(const store::Run& run) {
  std::vector<TimedPass> passes;
  for (const store::CaseResult& result : run.cases) {
    for (const auto& [pass, facts] : result.facts.timing) {
      TimedPass& timed = passes.emplace_back(&result, pass, &facts);
      timed.call_s = median_s(result, pass) / static_cast<double>(timed.calls_per_sample());
    }
  }
  return passes;
}

std::string percent(double share) {
  return share < 0.1 ? fmt::format("{:.2g} %", 100 * share) : fmt::format("{:.0f} %", 100 * share);
}

std::string count_of(std::size_t passes) {
  return passes == 1 ? "1 timing" : fmt::format("{} timings", passes);
}

// The parameters that differ between the cases of a run.
std::set<std::string> varying(const store::Run& run) {
  std::map<std::string, std::string> first;
  std::set<std::string> names;
  for (const store::CaseResult& result : run.cases) {
    for (const auto& [name, value] : result.parameters) {
      const auto [known, added] = first.try_emplace(name, to_text(value));
      const bool late = added && &result != &run.cases.front();
      if (late || known->second != to_text(value)) names.insert(name);
    }
  }
  return names;
}

std::string name_of(const TimedPass& pass, const std::set<std::string>& axes) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : pass.result->parameters) {
    if (axes.contains(name)) parts.push_back(name + " " + to_text(value));
  }
  parts.push_back(pass.pass);
  return join(parts, ", ");
}

std::string named(const std::vector<const TimedPass*>& passes, const std::set<std::string>& axes,
                  const std::function<std::string(const TimedPass&)>& figure) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(passes_named, passes.size()); ++i) {
    names.push_back(name_of(*passes[i], axes) + figure(*passes[i]));
  }
  if (passes.size() > passes_named) {
    names.push_back(fmt::format("and {} more", passes.size() - passes_named));
  }
  return join(names, "; ");
}

std::vector<const TimedPass*> matching(const std::vector<TimedPass>& passes,
                                       const std::function<bool(const TimedPass&)>& matches) {
  std::vector<const TimedPass*> found;
  for (const TimedPass& pass : passes) {
    if (matches(pass)) found.push_back(&pass);
  }
  return found;
}

std::string batching(const std::vector<TimedPass>& passes) {
  const auto batched =
      matching(passes, [](const auto& pass) { return pass.batch() > pass.calls_per_sample(); });
  if (batched.empty()) return "";
  const auto [least, most] =
      std::minmax_element(batched.begin(), batched.end(),
                          [](const auto* a, const auto* b) { return a->batch() < b->batch(); });
  const std::int64_t from = (*least)->batch(), to = (*most)->batch();
  return fmt::format(
      "{} of {} had calls too short for one reading of the clock: it timed batches of {} calls",
      batched.size(), count_of(passes.size()),
      from == to ? fmt::format("{}", from) : fmt::format("{} to {}", from, to));
}

std::string shortness(const std::vector<TimedPass>& passes, const std::set<std::string>& axes) {
  const auto too_short =
      matching(passes, [](const auto& pass) { return pass.facts->too_short.value_or(false); });
  if (too_short.empty()) return "";
  return fmt::format("Still too short for the clock: {}",
                     named(too_short, axes, [](const auto&) { return std::string(); }));
}

std::string gaps(const std::vector<TimedPass>& passes, const std::set<std::string>& axes) {
  const auto with_gaps =
      matching(passes, [](const auto& pass) { return pass.gap_share() > max_gap_share; });
  if (with_gaps.empty()) return "";
  return "With gaps in which the device may have waited for the host: " +
         named(with_gaps, axes, [](const TimedPass& pass) {
           return fmt::format(" ({} of its calls)", percent(pass.gap_share()));
         });
}

std::string errors(const std::vector<TimedPass>& passes, const std::set<std::string>& axes) {
  const auto off = matching(passes, [](const auto& pass) {
    return pass.call_s > 0 && pass.call_error_s() > max_clock_error * pass.call_s;
  });
  if (off.empty()) return "";
  return "The clock may be off by over 1 % of a call, in the same direction for each: " +
         named(off, axes, [](const TimedPass& pass) {
           return fmt::format(" ({:.2g} us of {:.3g} us)", 1e6 * pass.call_error_s(),
                              1e6 * pass.call_s);
         });
}

std::string limit_of(const std::string& stopped_by) {
  if (stopped_by == "max_time") return "max_time was reached";
  if (stopped_by == "count") return "an external program took a fixed number";
  if (stopped_by == "program") return "an external program decided";
  return "max_samples was reached";
}

// Sampling that another limit ended may still have reached its target.
bool reached(const TimedPass& pass) {
  if (pass.facts->stopped_by == "target") return true;
  return pass.facts->relative_interval && *pass.facts->relative_interval <= *pass.facts->target;
}

std::string stopping(const std::vector<TimedPass>& passes, const std::set<std::string>& axes) {
  const auto adaptive =
      matching(passes, [](const auto& pass) { return pass.facts->target.has_value(); });
  if (adaptive.empty()) return "";
  const auto missed =
      matching(passes, [](const auto& pass) { return pass.facts->target && !reached(pass); });
  const auto [least, most] =
      std::minmax_element(adaptive.begin(), adaptive.end(),
                          [](const auto* a, const auto* b) { return a->samples() < b->samples(); });
  std::string text = fmt::format("{} of {} reached the target, with {} to {} samples",
                                 adaptive.size() - missed.size(), count_of(adaptive.size()),
                                 (*least)->samples(), (*most)->samples());
  if (missed.empty()) return text;
  return text + ". Not reached: " + named(missed, axes, [](const TimedPass& pass) {
           const std::optional<double>& interval = pass.facts->relative_interval;
           const std::string known =
               interval ? "known to ± " + percent(*interval) : std::string("interval unknown");
           return fmt::format(" ({}, {} samples, {})", limit_of(pass.facts->stopped_by),
                              pass.samples(), known);
         });
}

}  // namespace

std::vector<std::string> sampling_facts(const store::Run& run) {
  const std::vector<TimedPass> passes = timed_passes(run);
  if (passes.empty()) return {};
  const std::set<std::string> axes = varying(run);
  std::vector<std::string> facts;
  for (std::string fact : {batching(passes), shortness(passes, axes), errors(passes, axes),
                           gaps(passes, axes), stopping(passes, axes)}) {
    if (!fact.empty()) facts.push_back(std::move(fact));
  }
  return facts;
}

std::set<std::string> idle_settings(const store::Run& run) {
  bool fixed = false, adaptive = false;
  for (const store::CaseResult& result : run.cases) {
    const std::string target = store::text_of(result.parameters, "measure.target");
    if (!target.empty()) (target == "0" ? fixed : adaptive) = true;
  }
  if (fixed && !adaptive) {
    return {"measure.target", "measure.min_samples", "measure.max_samples", "measure.max_time"};
  }
  if (adaptive && !fixed) return {"measure.samples"};
  return {};
}

}  // namespace assay::report
