#include "cli/show/run_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "base/shell_command.h"
#include "base/text.h"
#include "cli/show/case_names.h"
#include "cli/show/document.h"
#include "cli/show/outcome_summary.h"
#include "report/data/reduce.h"
#include "report/document/markdown_table.h"
#include "report/spec/numbers.h"
#include "statistics/statistics.h"
#include "store/database/baselines.h"
#include "store/records/marks.h"
#include "store/records/suite.h"

namespace assay::cli {

namespace {

using Cases = std::vector<const store::CaseResult*>;

std::vector<std::string> passes_of(const Cases& cases) {
  std::vector<std::string> passes;
  for (const store::CaseResult* result : cases) {
    for (const store::Series& series : result->series) {
      const bool timed = series.metric == "time" && series.part.empty();
      if (timed && std::ranges::count(passes, series.pass) == 0) passes.push_back(series.pass);
    }
  }
  return passes;
}

struct Time {
  double median_s = statistics::not_a_number;
  std::string instead;  // of a figure
  bool marked = false;
};

Time time_of(const store::CaseResult& result, const std::string& pass) {
  Time time;
  std::vector<const store::Series*> ranks;
  for (const store::Series& series : result.series) {
    if (series.metric != "time" || !series.part.empty() || series.pass != pass) continue;
    time.marked = time.marked || !store::marks_of(result, series).empty();
    if (series.outcome != Outcome::ok) time.instead = to_text(series.outcome);
    ranks.push_back(&series);
  }
  if (!time.instead.empty() || ranks.empty()) return time;
  time.median_s = report::reduce(ranks, report::RankRule::maximum, report::Statistic::median)
                      .value_or(statistics::not_a_number);
  return time;
}

report::TableColumn time_column(const Cases& cases, const std::string& pass) {
  std::vector<Time> times;
  double shortest = std::numeric_limits<double>::infinity();
  for (const store::CaseResult* result : cases) {
    times.push_back(time_of(*result, pass));
    if (times.back().median_s > 0) shortest = std::min(shortest, times.back().median_s);
  }
  const auto [unit, seconds] = shortest < 1e-3 ? std::pair("µs", 1e-6)
                               : shortest < 1  ? std::pair("ms", 1e-3)
                                               : std::pair("s", 1.0);
  report::TableColumn column{fmt::format("{} [{}]", pass.empty() ? "time" : pass, unit), {}};
  column.numeric = true;
  for (const Time& time : times) {
    column.cells.push_back(
        std::isnan(time.median_s) ? time.instead : report::figure_text(time.median_s / seconds));
    column.signs.push_back(time.marked ? report::mark_sign : "");
  }
  return column;
}

// Where and with what it was measured; the page of a case has all of it.
std::string origin_of(const store::Session& session) {
  std::vector<std::string> machine = {string_at(session.machine, "host"),
                                      string_at(session.machine, "cpu")};
  for (const nlohmann::json& gpu : member_of(session.machine, "gpus")) {
    machine.push_back(string_at(gpu, "name"));
  }
  std::erase(machine, "");
  const nlohmann::json& source = member_of(session.provenance, "source");
  const bool changed = member_of(source, "clean") == nlohmann::json(false);
  std::string text;
  if (!machine.empty()) text += fmt::format("  machine: {}\n", join(machine, ", "));
  if (const std::string commit = string_at(source, "commit"); !commit.empty()) {
    text += fmt::format("  commit: {}{}\n", commit, changed ? " with uncommitted changes" : "");
  }
  if (const std::string built = string_at(session.provenance, "fingerprint"); !built.empty()) {
    text += fmt::format("  built with: {}\n", built);
  }
  return text;
}

}  // namespace

std::string case_table(const Cases& cases) {
  if (cases.empty()) return "";
  const CaseNames names = case_names(cases);
  report::TableSection table;
  report::TableColumn number{"case", {}}, outcome{"outcome", {}};
  number.numeric = true;
  for (const store::CaseResult* result : cases) {
    number.cells.push_back(std::to_string(result->ordinal + 1));
    outcome.cells.emplace_back(to_text(result->outcome));
  }
  table.columns.push_back(std::move(number));
  for (const std::string& name : names.varying) {
    report::TableColumn column{name, {}};
    for (const store::CaseResult* result : cases) {
      column.cells.push_back(store::text_of(result->parameters, name));
    }
    table.columns.push_back(std::move(column));
  }
  for (const std::string& pass : passes_of(cases)) {
    table.columns.push_back(time_column(cases, pass));
  }
  const bool all_ok = std::ranges::all_of(
      cases, [](const store::CaseResult* result) { return result->outcome == Outcome::ok; });
  if (!all_ok) table.columns.push_back(std::move(outcome));
  const bool marked = std::ranges::any_of(table.columns, [](const report::TableColumn& column) {
    return std::ranges::count(column.signs, report::mark_sign) > 0;
  });
  return report::terminal_table(table, 0) +
         (marked ? fmt::format("{} marked: the page of the case says why\n", report::mark_sign)
                 : "") +
         (names.shared.empty() || cases.size() == 1
              ? ""
              : "the same in all: " + join(names.shared, ", ") + "\n");
}

std::string run_page(const store::Run& run) {
  const store::RunInfo& info = run.info;
  const auto suite = store::suite_of(info);
  std::string page = fmt::format(
      "{}: {}\n  started {}, {}\n{}", info.name, info.title, info.started,
      info.finished.empty() ? "not finished" : "finished " + info.finished, origin_of(info.first));
  if (const std::string baseline = store::baseline_name(info); !baseline.empty()) {
    page += fmt::format("  kept as the baseline: {}\n", baseline);
  }
  if (!info.first.overrides.empty()) {
    page += fmt::format("  overrides: {}\n", join(info.first.overrides, " "));
  }
  if (suite) {
    page += "  chapters:\n";
    for (const std::string& line : split(trim(suite_summary({run}, {})), '\n')) {
      page += "    " + line + "\n";
    }
  }
  Cases cases;
  for (const store::CaseResult& result : run.cases) cases.push_back(&result);
  return page + "\n" + case_table(cases) + "\n" + as_called(outcome_summary({run}));
}

}  // namespace assay::cli
