#include "compare/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/text.h"
#include "compare/pairing.h"
#include "report/reduce.h"
#include "store/marks.h"

namespace assay::compare {
namespace {

constexpr std::array<std::pair<std::string_view, Verdict>, 7> verdicts{{
    {"faster", Verdict::faster},
    {"slower", Verdict::slower},
    {"lower", Verdict::lower},
    {"higher", Verdict::higher},
    {"same", Verdict::same},
    {"inconclusive", Verdict::inconclusive},
    {"not-compared", Verdict::not_compared},
}};

bool is_rate(std::string_view unit) { return unit.ends_with("/s"); }

bool is_counted(std::string_view unit) {
  return unit == "byte" || unit == "FLOP" || unit == "count" || unit == "token";
}

Verdict verdict_of(Relation relation, std::string_view unit) {
  if (relation == Relation::same) return Verdict::same;
  if (relation == Relation::inconclusive) return Verdict::inconclusive;
  const bool lower = relation == Relation::lower;
  if (unit == "s") return lower ? Verdict::faster : Verdict::slower;
  if (is_rate(unit)) return lower ? Verdict::slower : Verdict::faster;
  return lower ? Verdict::lower : Verdict::higher;
}

struct Place {
  std::string pass;
  std::string part;
  bool operator==(const Place&) const = default;
};

// Where the metric was measured, or was to be.
void add_places(const Cases& cases, const std::string& metric, std::vector<Place>& places) {
  for (const store::CaseResult* result : cases) {
    for (const store::Series& series : result->series) {
      const Place place{series.pass, series.part};
      if (series.metric != metric) continue;
      if (std::find(places.begin(), places.end(), place) == places.end()) places.push_back(place);
    }
  }
}

std::string because(Outcome outcome, const std::string& reason) {
  return std::string(to_text(outcome)) + (reason.empty() ? "" : ": " + reason);
}

struct Samples {
  std::vector<double> values;
  std::vector<std::size_t> sizes;  // of the runs they are from
  std::string unit;
  std::string problem;  // why there are none
};

std::string why_missing(const store::CaseResult& result, const Place& place,
                        const std::string& metric) {
  for (const store::Series& series : result.series) {
    if (series.pass == place.pass && series.outcome != Outcome::ok) {
      return because(series.outcome, series.reason);
    }
    if (series.pass != place.pass || series.metric != metric) continue;
    if (const auto stand_in = store::stand_in_for(result, series)) return stand_in->reason;
  }
  if (result.outcome != Outcome::ok) return because(result.outcome, result.reason);
  return fmt::format("{} was not measured", metric);
}

// The slowest rank of each iteration, of every case in turn; the lowest rate likewise.
Samples samples_at(const Cases& cases, const Place& place, const std::string& metric) {
  Samples all;
  if (cases.empty()) all.problem = "there is no such case";
  for (const store::CaseResult* result : cases) {
    std::vector<const store::Series*> ranks;
    for (const store::Series& series : result->series) {
      if (Place{series.pass, series.part} == place && series.metric == metric) {
        ranks.push_back(&series);
      }
    }
    const bool ok = std::all_of(ranks.begin(), ranks.end(), [&](const store::Series* series) {
      return series->outcome == Outcome::ok && !store::discarded_for(*result, *series);
    });
    if (ranks.empty() || !ok) {
      all.problem = why_missing(*result, place, metric);
      break;
    }
    all.unit = ranks.front()->unit;
    const auto rule = is_rate(all.unit) ? report::RankRule::minimum : report::RankRule::maximum;
    const std::vector<double> values = report::over_ranks(ranks, rule);
    all.values.insert(all.values.end(), values.begin(), values.end());
    all.sizes.push_back(values.size());
    if (values.empty()) all.problem = "its samples are not known";
  }
  if (!all.problem.empty()) all.values.clear();
  return all;
}

Figures figures_of(const Samples& samples) {
  const store::Summary summary = store::summarise(samples.values);
  return {summary.n, summary.median};
}

std::string problem_of(const Samples& a, const Samples& b) {
  std::vector<std::string> problems;
  if (!a.problem.empty()) problems.push_back("A: " + a.problem);
  if (!b.problem.empty()) problems.push_back("B: " + b.problem);
  if (problems.empty() && a.unit != b.unit) {
    problems.push_back(fmt::format("A is in '{}', B in '{}'", a.unit, b.unit));
  }
  return join(problems, "; ");
}

Row compare_at(const CasePair& pair, const Place& place, const Question& question) {
  const Samples a = samples_at(pair.a, place, question.metric);
  const Samples b = samples_at(pair.b, place, question.metric);
  Row row;
  row.parameters = (pair.a.empty() ? pair.b : pair.a).front()->parameters;
  row.pass = place.pass;
  row.part = place.part;
  row.unit = a.unit.empty() ? b.unit : a.unit;
  row.a = figures_of(a);
  row.b = figures_of(b);
  row.reason = problem_of(a, b);
  row.judgement = {Relation::inconclusive,
                   store::not_a_number,
                   {store::not_a_number, store::not_a_number},
                   store::not_a_number,
                   {}};
  if (!row.reason.empty()) return row;
  row.judgement = is_counted(row.unit)
                      ? judge_counts(row.a.median, row.b.median, question.criteria)
                      : judge({a.values, a.sizes}, {b.values, b.sizes}, question.criteria);
  row.verdict = verdict_of(row.judgement.relation, row.unit);
  row.reason = row.judgement.reason;
  return row;
}

Result<void> check_metric(const Side& a, const Side& b, const std::string& metric) {
  std::vector<std::string> known;
  for (const Side* side : {&a, &b}) {
    for (const store::Run& run : side->runs) {
      for (const store::CaseResult& result : run.cases) {
        for (const store::Series& series : result.series) {
          if (series.metric == metric) return {};
          if (std::find(known.begin(), known.end(), series.metric) == known.end()) {
            known.push_back(series.metric);
          }
        }
      }
    }
  }
  return fail(ExitCode::bad_input, fmt::format("neither side has the metric '{}'{}", metric,
                                               known.empty() ? "" : suggestion(metric, known)));
}

// What is set up once in a process (addresses, algorithms that were tuned, caches) differs from
// one to the next, and within a run a case is measured by one process.
std::vector<std::string> cautions_of(const std::vector<CasePair>& pairs, double between_runs) {
  const auto is_single = [&](Cases CasePair::*side) {
    std::size_t most = 0;
    for (const CasePair& pair : pairs) {
      if (!pair.a.empty() && !pair.b.empty()) most = std::max(most, (pair.*side).size());
    }
    return most == 1;
  };
  const bool a = is_single(&CasePair::a);
  const bool b = is_single(&CasePair::b);
  if (!a && !b) return {};
  return {fmt::format(
      "{} a single run: by how much it differs from process to process is not seen, but "
      "supposed to be {:g} % (--between-runs). Several runs a side, measured in turn "
      "(tools/alternate), show it.",
      a && b ? "Each side is"
      : a    ? "A is"
             : "B is",
      between_runs * 100)};
}

}  // namespace

std::vector<std::string> verdict_names() {
  std::vector<std::string> names;
  for (const auto& [text, value] : verdicts) names.emplace_back(text);
  return names;
}

std::optional<Verdict> verdict_from(std::string_view text) {
  for (const auto& [name, value] : verdicts) {
    if (name == text) return value;
  }
  return std::nullopt;
}

std::optional<Relation> relation_meant(Verdict verdict, std::string_view unit) {
  for (const Relation relation : {Relation::lower, Relation::higher}) {
    if (verdict_of(relation, unit) == verdict) return relation;
  }
  return std::nullopt;
}

std::string_view to_text(Verdict verdict) {
  for (const auto& [text, value] : verdicts) {
    if (value == verdict) return text;
  }
  return "";
}

Result<Comparison> compare(const Side& a, const Side& b, const Question& question) {
  if (const auto checked = check_metric(a, b, question.metric); !checked) {
    return tl::unexpected(checked.error());
  }
  const std::vector<CasePair> pairs = pair_cases(a, b);
  Comparison comparison{a.name,
                        b.name,
                        question,
                        differences(a, b, pairs),
                        cautions_of(pairs, question.criteria.between_runs),
                        {}};
  for (const CasePair& pair : pairs) {
    std::vector<Place> places;
    add_places(pair.a, question.metric, places);
    add_places(pair.b, question.metric, places);
    if (places.empty()) places.emplace_back();
    for (const Place& place : places) comparison.rows.push_back(compare_at(pair, place, question));
  }
  return comparison;
}

Result<double> parse_percentage(std::string_view text) {
  std::string_view number = trim(text);
  double value = 0;
  if (number.ends_with('%')) {
    number = trim(number.substr(0, number.size() - 1));
    const auto read = std::from_chars(number.data(), number.data() + number.size(), value);
    const bool whole = read.ec == std::errc{} && read.ptr == number.data() + number.size();
    if (whole && std::isfinite(value) && value >= 0) return value / 100;
  }
  return fail(ExitCode::bad_input, fmt::format("'{}' is not a percentage", text),
              "write a number and a percent sign, such as 5%");
}

}  // namespace assay::compare
