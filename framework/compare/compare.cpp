#include "compare/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/json.h"
#include "base/text.h"
#include "compare/pairing.h"
#include "report/data/reduce.h"
#include "store/records/marks.h"

namespace assay::compare {
namespace {

constexpr std::array<std::pair<std::string_view, Verdict>, 10> verdicts{{
    {"faster", Verdict::faster},
    {"slower", Verdict::slower},
    {"lower", Verdict::lower},
    {"higher", Verdict::higher},
    {"same", Verdict::same},
    {"changed", Verdict::changed},
    {"added", Verdict::added},
    {"gone", Verdict::gone},
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

// Adds the passes and parts that have the metric, measured or not.
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
  std::vector<std::size_t> sizes;  // by run
  std::vector<std::string> words;  // in place of values
  std::string unit;
  std::string problem;  // why there are neither
  std::vector<store::Mark> marks;
};

void add_marks(const store::CaseResult& result, const std::vector<const store::Series*>& ranks,
               std::vector<store::Mark>& marks) {
  for (const store::Series* series : ranks) {
    for (store::Mark& mark : store::marks_of(result, *series)) {
      if (std::find(marks.begin(), marks.end(), mark) == marks.end())
        marks.push_back(std::move(mark));
    }
  }
}

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

// The slowest rank of each iteration: the highest time, or the lowest rate.
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
    add_marks(*result, ranks, all.marks);
    for (const store::Series* series : ranks) {
      for (const std::string& word : series->words) {
        if (std::find(all.words.begin(), all.words.end(), word) == all.words.end()) {
          all.words.push_back(word);
        }
      }
    }
    if (values.empty() && all.words.empty()) all.problem = "its samples are unknown";
  }
  if (!all.problem.empty()) {
    all.values.clear();
    all.words.clear();
  }
  return all;
}

Figures figures_of(const Samples& samples) {
  return {samples.values.size(), middle({samples.values, samples.sizes}), join(samples.words, ", "),
          samples.marks};
}

// The number of calls that a sample sums; "": unknown.
std::string calls_per_sample(const Cases& cases) {
  return cases.empty() ? "" : store::text_of(cases.front()->parameters, "measure.calls_per_sample");
}

std::string problem_of(const Samples& a, const Samples& b) {
  std::vector<std::string> problems;
  if (!a.problem.empty()) problems.push_back("A: " + a.problem);
  if (!b.problem.empty()) problems.push_back("B: " + b.problem);
  for (const auto& [side, samples] : {std::pair("A", &a), std::pair("B", &b)}) {
    const store::Mark* mark = store::unproven(samples->marks);
    if (mark == nullptr || !samples->problem.empty() || samples->unit != "s") continue;
    problems.push_back(fmt::format("{} is marked {}: {}", side, mark->mark, mark->reason));
  }
  if (problems.empty() && a.unit != b.unit) {
    problems.push_back(fmt::format("A is in '{}', B in '{}'", a.unit, b.unit));
  }
  if (problems.empty() && a.words.empty() != b.words.empty()) {
    problems.push_back(fmt::format("{} holds words, {} numbers", a.words.empty() ? "B" : "A",
                                   a.words.empty() ? "A" : "B"));
  }
  return join(problems, "; ");
}

// Whether the cases measured other parts of this pass, and not this one.
bool lacks_only_this_part(const Cases& cases, const Place& place, const std::string& metric) {
  if (cases.empty() || place.part.empty()) return false;
  return std::all_of(cases.begin(), cases.end(), [&](const store::CaseResult* result) {
    bool other = false, here = false;
    for (const store::Series& series : result->series) {
      if (series.metric != metric || series.pass != place.pass) continue;
      here = here || series.part == place.part;
      other = other || series.outcome == Outcome::ok;
    }
    return other && !here && result->outcome == Outcome::ok;
  });
}

Criteria criteria_for(const store::Parameters& parameters, const Question& question) {
  Criteria criteria = question.criteria;
  const bool on_cpu = store::text_of(parameters, "device") == "cpu";
  criteria.between_runs =
      question.between_runs.value_or(on_cpu ? between_runs_on_cpu : between_runs_on_gpu);
  return criteria;
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
  const std::string of_a = calls_per_sample(pair.a), of_b = calls_per_sample(pair.b);
  if (row.reason.empty() && row.unit == "s" && of_a != of_b && !of_a.empty() && !of_b.empty()) {
    row.reason = fmt::format("a sample sums {} calls in A, {} in B", of_a, of_b);
  }
  row.judgement = {Relation::inconclusive,
                   statistics::not_a_number,
                   {statistics::not_a_number, statistics::not_a_number},
                   statistics::not_a_number,
                   {}};
  const bool in_a = a.problem.empty(), in_b = b.problem.empty();
  if (in_a != in_b && lacks_only_this_part(in_a ? pair.b : pair.a, place, question.metric)) {
    row.verdict = in_a ? Verdict::gone : Verdict::added;
    row.reason.clear();
  }
  if (!row.reason.empty() || in_a != in_b) return row;
  if (!a.words.empty()) {
    row.verdict = a.words == b.words ? Verdict::same : Verdict::changed;
    return row;
  }
  const Criteria criteria = criteria_for(row.parameters, question);
  row.judgement = is_counted(row.unit) ? judge_counts(row.a.median, row.b.median, criteria)
                                       : judge({a.values, a.sizes}, {b.values, b.sizes}, criteria);
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

// One process measures a case of a run. Its addresses, tuned algorithms and caches are set up once
// and differ between processes.
std::string caution_of_single_runs(const std::vector<CasePair>& pairs, const Question& question) {
  std::size_t of_a = 0, of_b = 0;  // runs, at most
  bool cpu = false, gpu = false;
  for (const CasePair& pair : pairs) {
    if (pair.a.empty() || pair.b.empty()) continue;
    of_a = std::max(of_a, pair.a.size());
    of_b = std::max(of_b, pair.b.size());
    (store::text_of(pair.a.front()->parameters, "device") == "cpu" ? cpu : gpu) = true;
  }
  if (std::min(of_a, of_b) != 1) return {};
  if (of_a != of_b) {
    return fmt::format(
        "{} is a single run: it is assumed to vary between processes as the runs of {} do.",
        of_a == 1 ? "A" : "B", of_a == 1 ? "B" : "A");
  }
  std::vector<std::string> assumed;
  if (question.between_runs) {
    assumed.push_back(percentage(*question.between_runs));
  } else {
    if (gpu) assumed.push_back(percentage(between_runs_on_gpu));
    if (cpu) assumed.push_back(percentage(between_runs_on_cpu) + " on a CPU");
  }
  return fmt::format(
      "Each side is a single run: it cannot show how much runs vary between processes; {} is "
      "assumed (--between-runs). Several interleaved runs a side (tools/alternate) show it.",
      join(assumed, ", and "));
}

std::string caution_of_shared_runs(const Side& a, const Side& b) {
  std::vector<std::string> shared;
  for (const store::Run& one : a.runs) {
    for (const store::Run& other : b.runs) {
      if (one.info.started.empty() || identity_of(one.info) != identity_of(other.info)) continue;
      const bool common = std::any_of(one.cases.begin(), one.cases.end(), [&](const auto& left) {
        return std::any_of(other.cases.begin(), other.cases.end(), [&](const auto& right) {
          return left.parameters == right.parameters && left.when == right.when;
        });
      });
      if (common) shared.push_back(one.info.name);
    }
  }
  if (shared.empty()) return {};
  return fmt::format("Both sides hold the same measurements, from {}: shared cases cannot differ.",
                     join(shared, ", "));
}

std::vector<std::string> cautions_of(const Side& a, const Side& b,
                                     const std::vector<CasePair>& pairs, const Question& question,
                                     const std::vector<Row>& rows) {
  std::vector<std::string> cautions;
  const bool judged = std::any_of(rows.begin(), rows.end(), [](const Row& row) {
    return row.judged() && !is_counted(row.unit);
  });
  for (std::string& caution :
       std::array{judged ? caution_of_single_runs(pairs, question) : std::string(),
                  caution_of_shared_runs(a, b)}) {
    if (!caution.empty()) cautions.push_back(std::move(caution));
  }
  return cautions;
}

}  // namespace

std::string identity_of(const store::RunInfo& info) {
  return join({info.name, info.started, string_at(info.first.machine, "host")}, "\n");
}

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
  Comparison comparison{a.name, b.name, question, differences(a, b, pairs), {}, {}};
  for (const CasePair& pair : pairs) {
    std::vector<Place> places;
    add_places(pair.a, question.metric, places);
    add_places(pair.b, question.metric, places);
    if (places.empty()) places.emplace_back();
    for (const Place& place : places) comparison.rows.push_back(compare_at(pair, place, question));
  }
  comparison.cautions = cautions_of(a, b, pairs, question, comparison.rows);
  return comparison;
}

std::string percentage(double fraction) { return fmt::format("{:g} %", fraction * 100); }

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
