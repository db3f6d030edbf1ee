#include "run/workers/case_sense.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/text.h"

namespace assay::run {

namespace {

using OfRank = std::vector<const store::Series*>;

// Of a pass, without its phases.
OfRank series_of(const CaseEnd& end, const std::string& pass, const char* metric) {
  OfRank found;
  for (const store::Series& series : end.series) {
    if (series.pass == pass && series.metric == metric && series.part.empty()) {
      found.push_back(&series);
    }
  }
  return found;
}

// Exactly one of each rank.
std::string why_not_one_each(const OfRank& found, const std::string& pass, const char* metric,
                             int ranks) {
  for (int rank = 0; rank < ranks; ++rank) {
    const auto of_rank = [&](const store::Series* series) { return series->rank == rank; };
    const auto count = std::count_if(found.begin(), found.end(), of_rank);
    if (count == 1) continue;
    return fmt::format("'{}' of {} came {} from rank {}", metric, pass,
                       count == 0 ? "never" : fmt::format("{} times", count), rank);
  }
  return {};
}

std::int64_t setting(const wire::CaseRequest& request, const char* name, std::int64_t usual) {
  return store::integer_of(request.parameters, name, usual);
}

std::string why_not_its_samples(const store::Series& time, const wire::CaseRequest& request) {
  const auto count = std::ssize(time.samples);
  const bool target = store::number_of(request.parameters, "measure.target", 0) > 0;
  const std::int64_t most =
      setting(request, target ? "measure.max_samples" : "measure.samples", count);
  if (count > most || count == 0 || (!target && count < most)) {
    return fmt::format("{} has {} of {} asked for", time.pass,
                       counted(static_cast<std::size_t>(count), "sample", "samples"), most);
  }
  const bool finite = std::all_of(time.samples.begin(), time.samples.end(),
                                  [](double s) { return std::isfinite(s) && s >= 0; });
  if (!finite) return fmt::format("{} has a time that is no number of seconds", time.pass);
  if (time.outcome != Outcome::ok || time.clock.empty()) {
    return fmt::format("the time of {} names no clock or another outcome", time.pass);
  }
  return {};
}

// The outputs of each timed pass are looked at, and how it was timed is told.
std::string why_not_its_facts(const CaseEnd& end, const std::string& pass, std::int64_t samples) {
  const auto timing = end.facts.timing.find(pass);
  if (timing == end.facts.timing.end() || timing->second.samples != samples) {
    return fmt::format("nothing is told of how the {} samples of {} were taken", samples, pass);
  }
  const auto verified = end.facts.verification.find(pass);
  if (verified == end.facts.verification.end() ||
      verified->second.repeated.looks.value_or(0) == 0) {
    return fmt::format("nothing is told of the outputs of {}", pass);
  }
  return {};
}

std::string why_impossible_of(const CaseEnd& end, const std::string& pass,
                              const ToldOfCase& known) {
  for (const char* metric : {"time", "first_call_time", "memory_before", "peak_memory"}) {
    const OfRank found = series_of(end, pass, metric);
    if (auto why = why_not_one_each(found, pass, metric, known.ranks); !why.empty()) return why;
  }
  const OfRank times = series_of(end, pass, "time");
  for (const store::Series* time : times) {
    if (auto why = why_not_its_samples(*time, known.request); !why.empty()) return why;
  }
  const auto first = std::find_if(times.begin(), times.end(),
                                  [](const store::Series* time) { return time->rank == 0; });
  return why_not_its_facts(end, pass, std::ssize((*first)->samples));
}

std::string why_not_asked_for(const CaseEnd& end, const ToldOfCase& known) {
  for (const store::Series& series : end.series) {
    if (series.pass.empty() || std::ranges::count(known.request.passes, series.pass) > 0) continue;
    return fmt::format("'{}' came of {}, which nobody asked for", series.metric, series.pass);
  }
  return {};
}

std::string why_longer_than_the_case(const CaseEnd& end, const ToldOfCase& known) {
  constexpr double margin = 1.02;  // of two clocks
  std::map<int, double> timed_s;   // by rank
  for (const store::Series& series : end.series) {
    if (series.metric != "time" || !series.part.empty()) continue;
    for (const double sample : series.samples) timed_s[series.rank] += sample;
  }
  for (const auto& [rank, together_s] : timed_s) {
    if (together_s <= margin * known.worked_s) continue;
    return fmt::format("the samples of rank {} are {} together, the whole case took {}", rank,
                       human_duration(together_s), human_duration(known.worked_s));
  }
  return {};
}

}  // namespace

std::string why_impossible(const CaseEnd& end, const ToldOfCase& known) {
  for (const std::string& pass : known.request.passes) {
    if (std::count(known.unclocked.begin(), known.unclocked.end(), pass) > 0) continue;
    if (auto why = why_impossible_of(end, pass, known); !why.empty()) return why;
  }
  if (auto why = why_not_asked_for(end, known); !why.empty()) return why;
  return why_longer_than_the_case(end, known);
}

void refuse(CaseEnd& end, const std::vector<std::string>& passes, Outcome outcome,
            std::string reason) {
  end.outcome = outcome;
  end.reason = std::move(reason);
  end.reusable = false;
  end.series.clear();
  end.artefacts.clear();
  for (const std::string& pass : passes) {
    end.series.push_back(
        {.pass = pass, .metric = "time", .unit = "s", .outcome = outcome, .reason = end.reason});
  }
}

}  // namespace assay::run
