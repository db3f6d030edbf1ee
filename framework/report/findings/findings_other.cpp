#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>

#include "base/text.h"
#include "report/document/markdown_table.h"
#include "report/findings/findings.h"
#include "statistics/summary.h"

namespace assay::report {
namespace {

constexpr double spread_matters = 1.5;
constexpr double mean_matters = 1.05;
constexpr double steady = 0.2;

struct Effect {
  std::vector<double> spreads, means;
  std::size_t unverified = 0;  // of the means
};

void add_effect(const std::map<std::string, Effect>& by_pass, double few, double many,
                Centre centre, std::vector<std::string>& sentences) {
  for (const auto& [pass, effect] : by_pass) {
    if (effect.means.empty()) continue;
    const double spread = effect.spreads.empty() ? 1 : statistics::geometric_mean(effect.spreads);
    const double mean = statistics::geometric_mean(effect.means);
    if (spread < spread_matters && mean < mean_matters) continue;
    std::string text = fmt::format("**warm-up{}**: with {:g} warm-up steps instead of {:g}",
                                   pass.empty() ? "" : ", " + pass, few, many);
    if (!effect.spreads.empty())
      text += fmt::format(" the standard deviation is {:.3g}× and", spread);
    text +=
        fmt::format(" the {} {:.3g}× as large (geometric mean of {} pair{})", centre_name(centre),
                    mean, effect.means.size(), effect.means.size() == 1 ? "" : "s");
    sentences.push_back(text + not_verified(effect.unverified, effect.means.size(), "pairs") + ".");
  }
}

struct Failure {
  Outcome outcome;
  std::string reason;
  bool alike = false;  // also stands for reasons with other numbers
  std::vector<std::uint32_t> records;
};

// The failures' values on the axes that vary, without axes of which they have every value.
std::string where_it_fails(const Records& records, const std::vector<std::uint32_t>& ids,
                           bool whole_cases) {
  std::vector<std::string> parts;
  for (std::size_t axis = 0; axis < records.first_derived(); ++axis) {
    const std::string& name = records.axes()[axis].name;
    if (whole_cases && name == "pass") continue;
    if (name == "part" || name == "rank" || name == "run" || !records.varies(axis)) continue;
    std::set<std::uint32_t> codes;
    for (const std::uint32_t id : ids) codes.insert(records.code(id, axis));
    if (codes.size() + 1 >= records.axes()[axis].values.size() && codes.size() > 1) continue;
    std::vector<std::string> values;
    for (const std::uint32_t code : codes) {
      if (code != 0) values.push_back(to_text(records.axes()[axis].values[code]));
    }
    if (!values.empty()) parts.push_back(name + " " + join(values, " or "));
  }
  return join(parts, ", ");
}

// Reasons that differ in their numbers alone count as one.
void add_failure(Outcome outcome, const std::string& reason, std::uint32_t id,
                 std::vector<Failure>& failures) {
  const std::string kind = without_numbers(reason);
  auto at = std::find_if(failures.begin(), failures.end(), [&](const Failure& known) {
    return known.outcome == outcome && without_numbers(known.reason) == kind;
  });
  if (at == failures.end()) {
    failures.push_back({outcome, reason, false, {}});
    at = std::prev(failures.end());
  }
  at->alike = at->alike || at->reason != reason;
  at->records.push_back(id);
}

std::string sentence(const Records& records, const Failure& failure, std::size_t of,
                     bool whole_cases) {
  const std::string where = where_it_fails(records, failure.records, whole_cases);
  return fmt::format(
      "**{}**: {} of {} {}{}{}.", to_text(failure.outcome), failure.records.size(), of,
      whole_cases ? "cases" : "results", where.empty() ? "" : " (" + escape_cell(where) + ")",
      failure.reason.empty()
          ? ""
          : (failure.alike ? ", for example: " : ": ") + escape_cell(failure.reason));
}

// Cases that failed after all their passes were measured, whose results are ok.
std::vector<std::string> late_failure_findings(const Records& records, const RecordIds& ids) {
  std::set<std::uint32_t> cases;
  std::vector<Failure> failures;
  for (const std::uint32_t id : ids) {
    if (!cases.insert(records[id].case_number).second) continue;
    const store::CaseResult& result = *records[id].result;
    const auto end = store::ended_after_measuring(result);
    if (end) add_failure(result.outcome, end->reason, id, failures);
  }
  std::vector<std::string> sentences;
  for (const Failure& failure : failures) {
    sentences.push_back(sentence(records, failure, cases.size(), true));
  }
  return sentences;
}

}  // namespace

std::vector<std::string> warmup_findings(const Records& records, const RecordIds& ids,
                                         Centre centre) {
  std::vector<std::string> sentences;
  const auto axis = records.axis("measure.warmup");
  if (!axis || !records.varies(*axis) || !is_numeric_axis(records, *axis)) return sentences;
  const std::size_t pass = *records.axis("pass");
  const std::vector<Figure> figures = figures_of(records, ids, "time", centre);
  double many = 0;
  std::set<double> steps;
  for (const Figure& figure : figures) {
    steps.insert(number_at(records, figure.record, *axis));
    many = *steps.rbegin();
  }
  std::unordered_map<Key, const Figure*, KeyHash> warm;
  for (const Figure& figure : figures) {
    if (number_at(records, figure.record, *axis) == many)
      warm[rest_of(records, figure.record, {*axis})] = &figure;
  }
  for (const double few : steps) {
    if (few == many) continue;
    std::map<std::string, Effect> by_pass;
    for (const Figure& figure : figures) {
      if (number_at(records, figure.record, *axis) != few) continue;
      const auto at = warm.find(rest_of(records, figure.record, {*axis}));
      if (at == warm.end() || !(figure.value > 0) || !(at->second->value > 0)) continue;
      Effect& effect = by_pass[to_text(records.value(figure.record, pass))];
      effect.means.push_back(figure.value / at->second->value);
      effect.unverified += figure.unverified || at->second->unverified ? 1 : 0;
      if (figure.std > 0 && at->second->std > 0)
        effect.spreads.push_back(figure.std / at->second->std);
    }
    add_effect(by_pass, few, many, centre, sentences);
  }
  return sentences;
}

std::vector<std::string> noise_findings(const Records& records, const RecordIds& ids) {
  const std::vector<Figure> figures = figures_of(records, ids, "time", Centre::mean);
  const Figure* worst = nullptr;
  std::size_t unsteady = 0, unverified = 0;
  const auto share = [](const Figure& figure) { return figure.std / figure.value; };
  for (const Figure& figure : figures) {
    if (!(figure.value > 0) || !(share(figure) > steady)) continue;
    ++unsteady;
    unverified += figure.unverified ? 1 : 0;
    if (!worst || share(figure) > share(*worst)) worst = &figure;
  }
  if (!worst) return {};
  std::vector<std::string> parts{to_text(records.value(worst->record, *records.axis("pass"))),
                                 place_of(records, worst->record, {})};
  parts.erase(std::remove(parts.begin(), parts.end(), ""), parts.end());
  return {fmt::format(
      "**spread**: the standard deviation is over {:.0f} % of the mean in {} of {} times, at most "
      "{:.0f} %{}{}.",
      100 * steady, unsteady, figures.size(), 100 * share(*worst),
      parts.empty() ? "" : " (" + join(parts, ", ") + ")",
      not_verified(unverified, unsteady, "times"))};
}

Findings failure_findings(const Records& records, const RecordIds& ids) {
  const std::size_t pass = *records.axis("pass");
  std::set<std::pair<std::uint32_t, std::uint32_t>> all, failed;
  std::vector<Failure> failures;
  for (const std::uint32_t id : ids) {
    if (records[id].series->metric == "observed_time") continue;  // observer_findings() tells
    const std::pair result{records[id].case_number, records.code(id, pass)};
    all.insert(result);
    const store::Series& series = *records[id].series;
    if (series.outcome == Outcome::ok || !failed.insert(result).second) continue;
    add_failure(series.outcome, series.reason, id, failures);
  }
  std::vector<std::string> sentences;
  for (const Failure& failure : failures) {
    sentences.push_back(sentence(records, failure, all.size(), false));
  }
  std::ranges::move(late_failure_findings(records, ids), std::back_inserter(sentences));
  Findings findings;
  for (std::string& text : sentences) findings.push_back({std::move(text), "", 0, true});
  return findings;
}

}  // namespace assay::report
