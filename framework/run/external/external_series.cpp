#include "run/external/external_series.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "base/printable.h"
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

double number_at(const nlohmann::json& json, const char* name) {
  const nlohmann::json& number = member_of(json, name);
  return number.is_number() ? number.get<double>() : std::nan("");
}

// Of the level, of how many looks there were, and of what they found.
std::string what_is_wrong_with_looks(const store::TimedLooksFacts& facts,
                                     const wire::CaseRequest& request) {
  const std::string asked = store::text_of(request.parameters, "measure.integrity");
  const std::string level = asked.empty() ? "fast" : asked;  // the case leaves out the default
  if (facts.integrity != level) {
    return fmt::format("were at the level '{}', the case asks for '{}'", printable(facts.integrity),
                       level);
  }
  if (facts.left_out) return {};
  if (facts.looks.value_or(0) < 1) return "are none";
  if (facts.renewed_inputs.value_or(0) < 1) return "were at calls without a renewed input";
  if (!(*facts.error >= 0 && *facts.error <= *facts.tolerance && std::isfinite(*facts.tolerance))) {
    return fmt::format("found an error of {}, their tolerance is {}", *facts.error,
                       *facts.tolerance);
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

Result<store::TimedLooksFacts> looks_from_json(const nlohmann::json& json,
                                               const wire::CaseRequest& request) {
  const std::string pass = string_at(json, "pass");
  store::TimedLooksFacts facts = {
      .integrity = string_at(json, "integrity"),
      .renewed_inputs = integer_from_json(member_of(json, "renewed_inputs")),
      .looks = integer_from_json(member_of(json, "looks")),
      .error = number_at(json, "error"),
      .tolerance = number_at(json, "tolerance")};
  if (std::string of = printable(string_at(json, "of")); !of.empty()) facts.of = std::move(of);
  if (const double ratio = number_at(json, "error_ratio"); ratio > 0) facts.error_ratio = ratio;
  if (const double spent_s = number_at(json, "looks_s"); spent_s >= 0) facts.looks_s = spent_s;
  std::string left_out = printable(string_at(json, "left_out"));
  if (facts.looks == 0 && !left_out.empty()) {
    facts = {.integrity = std::move(facts.integrity),
             .renewed_inputs = facts.renewed_inputs,
             .left_out = std::move(left_out)};
  }
  const bool known = std::ranges::count(request.passes, pass) > 0;
  const std::string wrong =
      known ? what_is_wrong_with_looks(facts, request) : "are of no pass of the case";
  if (wrong.empty()) return facts;
  return fail(ExitCode::some_case_not_ok,
              fmt::format("the program's looks at '{}' {}", printable(pass), wrong));
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
