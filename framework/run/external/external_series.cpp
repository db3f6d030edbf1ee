#include "run/external/external_series.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "statistics/median_interval.h"
#include "store/records/intake.h"
#include "store/records/units.h"

namespace assay::run {

namespace {

// Of a call between its own events; docs/measuring.md, Short calls.
constexpr double event_error_s = 0.3e-6;

bool is_base_unit(std::string_view name) {
  const auto unit = store::unit_named(name);
  if (unit) return unit->base == name;
  const std::size_t slash = name.find('/');
  return slash != std::string_view::npos && slash > 0 && slash + 1 < name.size() &&
         is_base_unit(name.substr(0, slash)) && is_base_unit(name.substr(slash + 1));
}

std::string what_is_wrong_with_unit(const store::Series& series) {
  if (series.metric == "time" && series.outcome == Outcome::ok && series.unit != "s") {
    return fmt::format("is in '{}', not in s", series.unit);
  }
  if (is_base_unit(series.unit)) return {};
  const auto unit = store::unit_named(series.unit);
  return fmt::format("is in '{}'; {}", series.unit,
                     unit ? fmt::format("the base unit is '{}'", unit->base)
                          : "the base units are s, byte, FLOP, count, token, J, W, Hz, a rate such "
                            "as byte/s, and '' for a ratio");
}

std::string what_is_wrong_with_samples(const store::Series& series) {
  if (series.outcome != Outcome::ok) return {};
  if (!series.words.empty()) return {};
  if (series.samples.empty()) return "has no samples and the outcome ok";
  for (std::size_t i = 0; i < series.samples.size(); ++i) {
    const double sample = series.samples[i];
    if (!std::isfinite(sample)) return fmt::format("has {} as sample {}", sample, i + 1);
    if (series.metric == "time" && sample < 0) {
      return fmt::format("has {} s as sample {}", sample, i + 1);
    }
  }
  return {};
}

std::string what_is_wrong(const store::Series& series, const wire::CaseRequest& request) {
  const auto& passes = request.passes;
  if (std::find(passes.begin(), passes.end(), series.pass) == passes.end()) {
    return fmt::format("was not asked for; the passes of the case are: {}", join(passes, ", "));
  }
  if (std::string wrong = store::what_is_wrong_with(series); !wrong.empty()) return wrong;
  if (series.metric == "time" && !series.words.empty()) return "holds words";
  if (series.rank != 0) {
    return fmt::format("is of rank {}; a program of its own is rank 0", series.rank);
  }
  if (std::string wrong = what_is_wrong_with_unit(series); !wrong.empty()) return wrong;
  if (std::string wrong = what_is_wrong_with_samples(series); !wrong.empty()) return wrong;
  const std::string clock = to_text(request.parameters.at("measure.clock"));
  if (series.metric == "time" && series.outcome == Outcome::ok && series.clock != clock) {
    return fmt::format("was taken with the clock '{}', the case asks for '{}'", series.clock,
                       clock);
  }
  return {};
}

}  // namespace

Result<void> check_external_series(const store::Series& series, const wire::CaseRequest& request) {
  const std::string wrong = what_is_wrong(series, request);
  if (wrong.empty()) return {};
  return fail(ExitCode::some_case_not_ok,
              fmt::format("what the program reported as '{}' of '{}' {}", series.metric,
                          series.pass, wrong));
}

store::SamplingFacts sampling_of(const store::Series& time, const wire::CaseRequest& request) {
  const auto taken = static_cast<double>(time.samples.size());
  const bool counted = taken == store::number_of(request.parameters, "measure.samples", taken);
  store::SamplingFacts facts = {
      .clock = time.clock,
      .samples = std::ssize(time.samples),
      .calls_per_sample = store::integer_of(request.parameters, "measure.calls_per_sample", 1),
      .stopped_by = counted ? "count" : "program",
      .relative_interval = statistics::relative_half_width_of_median(time.samples)};
  if (time.clock == "cuda_event") facts.clock_facts.call_error_s = event_error_s;
  const double target = store::number_of(request.parameters, "measure.target", 0);
  if (target > 0) facts.target = target;
  return facts;
}

}  // namespace assay::run
