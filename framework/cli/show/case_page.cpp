#include "cli/show/case_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/printable.h"
#include "base/text.h"
#include "report/spec/units.h"
#include "statistics/median_interval.h"
#include "statistics/sample_order.h"
#include "statistics/summary.h"
#include "store/records/identity.h"
#include "store/records/intake.h"
#include "store/records/suite.h"

namespace assay::cli {

namespace {

using nlohmann::json;

constexpr std::size_t most_series_shown = 500;

// Shows all figures of a series in one unit.
class Scale {
 public:
  Scale(double typical, std::string base)
      : base_(std::move(base)), shown_(report::sensible_unit(typical, base_)) {}

  std::string operator()(double value) const {
    if (!std::isfinite(value)) return "-";
    const std::string number = fmt::format("{:.5g}", report::convert(value, base_, shown_));
    return shown_.empty() || shown_ == "count" ? number : number + " " + shown_;
  }

 private:
  std::string base_;
  std::string shown_;
};

std::string figures_of(const store::Series& series) {
  const statistics::Summary summary = statistics::summarise(series.samples);
  const Scale in(std::abs(summary.median), series.unit);
  if (summary.n == 1) return in(summary.median);
  const statistics::MedianInterval interval = statistics::median_interval(series.samples);
  return fmt::format(
      "median {} (95 %: {} to {}), mean {}, std {}, p5 {}, p95 {}, min {}, max {}, "
      "n {}",
      in(summary.median), in(interval.low), in(interval.high), in(summary.mean),
      in(summary.std_sample), in(summary.p5), in(summary.p95), in(summary.min), in(summary.max),
      summary.n);
}

std::string order_marks_of(const store::Series& series) {
  const statistics::SampleOrder order = statistics::examine_order(series.samples);
  std::string text;
  if (order.autocorrelated) {
    text += fmt::format("; autocorrelated ({:.2f})", order.autocorrelation);
  }
  if (order.drifting) text += fmt::format("; drifting ({:+.1f} %)", order.drift * 100);
  return text;
}

std::string words_of(const store::Series& series) {
  std::vector<std::string> distinct;
  for (const std::string& word : series.words) {
    if (std::find(distinct.begin(), distinct.end(), word) == distinct.end()) {
      distinct.push_back(word);
    }
  }
  return join(distinct, ", ");
}

// Statistics of the times at which spans begin or end mean nothing.
bool is_span_end(const store::Series& series) {
  return series.metric == store::span_start_metric || series.metric == store::span_end_metric;
}

std::string series_line(const store::Series& series) {
  std::string text = series.pass.empty() ? series.metric : series.pass + " " + series.metric;
  if (!series.part.empty()) text += " of " + series.part;
  if (!series.lane.empty()) text += " in lane " + series.lane;
  if (series.rank != 0) text += fmt::format(", rank {}", series.rank);
  if (!series.clock.empty()) text += " [" + series.clock + "]";
  if (series.outcome != Outcome::ok) {
    text += ": " + std::string(to_text(series.outcome));
    if (!series.reason.empty()) text += ": " + series.reason;
  }
  if (!series.words.empty()) text += ": " + words_of(series);
  if (is_span_end(series))
    text += fmt::format(": {} spans", series.samples.size());
  else if (!series.samples.empty())
    text += ": " + figures_of(series) + order_marks_of(series);
  if (series.samples.empty()) {
    for (const auto& [name, figure] : series.statistics) {
      text += fmt::format(": {} {}", name, Scale(std::abs(figure), series.unit)(figure));
    }
  }
  return text;
}

// Adds "name: value" lines; fields and items stand indented below their object or list.
void add_json(const std::string& name, const json& value, std::size_t depth, std::string& page) {
  const std::string indent(2 * depth, ' ');
  const bool is_short = !value.is_structured() || value.dump().size() <= 60;
  if (value.is_string()) {
    const std::vector<std::string> lines = split(value.get<std::string>(), '\n');
    page += fmt::format("{}{}: {}\n", indent, name, lines.size() == 1 ? lines[0] : "");
    if (lines.size() == 1) return;
    for (const std::string& line : lines) page += indent + "  | " + line + "\n";
  } else if (is_short) {
    page += fmt::format("{}{}: {}\n", indent, name,
                        value.dump(-1, ' ', false, json::error_handler_t::replace));
  } else {
    page += fmt::format("{}{}:\n", indent, name);
    std::size_t number = 0;
    for (const auto& [key, field] : value.items()) {
      add_json(value.is_array() ? std::to_string(++number) : key, field, depth + 1, page);
    }
  }
}

void add_provenance(const store::Run& run, const store::CaseResult& result, std::string& page) {
  const store::Session& session = store::session_of(run.info, result.session);
  page += "  provenance\n";
  page += fmt::format("    run: {}, started {}{}\n", run.info.name, run.info.started,
                      result.session == 0 ? "" : fmt::format(", session {}", result.session + 1));
  page += fmt::format("    experiment: {} ({})\n", run.info.experiment, session.experiment_file);
  const auto suite = store::suite_of(run.info);
  if (suite) {
    std::vector<std::string> chapters;
    for (const store::ChapterRecord& chapter : suite->chapters) {
      if (std::ranges::count(chapter.cases, result.key) > 0) chapters.push_back(chapter.name);
    }
    page += fmt::format("    chapters: {}\n", join(chapters, ", "));
  }
  if (!session.overrides.empty()) {
    page += fmt::format("    overrides: {}\n", join(session.overrides, " "));
  }
  for (const json* object : {&session.provenance, &session.machine}) {
    if (!object->is_object()) continue;
    for (const auto& [name, value] : object->items()) {
      if (!suite || name != "suite") add_json(name, value, 2, page);
    }
  }
  if (!session.experiment_text.empty()) {
    add_json("experiment text", trim(session.experiment_text), 2, page);
  }
  const auto build = run.info.builds.find(result.build);
  if (build != run.info.builds.end() && build->second.is_object()) {
    for (const auto& [name, value] : build->second.items()) add_json(name, value, 2, page);
  }
}

// "forward: 3 looks, error 0.0012 of out (tolerance 0.01), 0.97 of the textbook's".
std::string looks_line(const std::string& pass, const store::TimedLooksFacts& timed) {
  std::string text = fmt::format("{}: {} look{}", pass, *timed.looks, *timed.looks == 1 ? "" : "s");
  if (timed.error) {
    text += fmt::format(", error {:.3g} of {} (tolerance {:.3g})", *timed.error,
                        timed.of.value_or("an output"), timed.tolerance.value_or(0));
  }
  if (timed.error_ratio) text += fmt::format(", {:.3g} of the textbook's", *timed.error_ratio);
  if (timed.left_out) text += "; left out: " + *timed.left_out;
  return text;
}

void add_looks(const store::CaseResult& result, std::string& page) {
  std::string lines;
  for (const auto& [pass, verification] : result.facts.verification) {
    if (!verification.timed.looks) continue;
    lines += "    " + looks_line(pass, verification.timed) + "\n";
  }
  if (!lines.empty()) page += "  looks at timed calls\n" + lines;
}

void add_artefacts(const store::Run& run, const store::CaseResult& result, std::string& page) {
  if (result.artefacts.empty()) return;
  page += fmt::format("  files, in {} of the results folder\n", run.info.name);
  for (const store::Artefact& artefact : result.artefacts) {
    page += fmt::format("    {}{}: {}, {}, {}, SHA-256 {}\n", artefact.name,
                        artefact.rank == 0 ? "" : fmt::format(", rank {}", artefact.rank),
                        artefact.media_type, human_size(artefact.bytes), artefact.file,
                        artefact.sha256);
  }
}

}  // namespace

std::string case_page(const store::Run& run, const store::CaseResult& result) {
  std::string page =
      fmt::format("{}, case {}: {}{}{}\n", run.info.name, result.ordinal + 1,
                  to_text(result.outcome), result.reason.empty() ? "" : ": ", result.reason);
  page += fmt::format("  key: {}\n  build: {}\n  measured: {} in {}\n", result.key, result.build,
                      result.when, human_duration(result.wall_s));
  page += "  parameters\n";
  for (const auto& [name, value] : result.parameters) {
    page += fmt::format("    {} = {}\n", name, to_text(value));
  }
  if (!result.series.empty()) page += "  series\n";
  for (std::size_t i = 0; i < result.series.size() && i < most_series_shown; ++i) {
    page += "    " + series_line(result.series[i]) + "\n";
  }
  if (result.series.size() > most_series_shown) {
    page += fmt::format("    and {} more; `assay export` has all of them\n",
                        result.series.size() - most_series_shown);
  }
  add_looks(result, page);
  add_artefacts(run, result, page);
  if (const json context = to_json(result.facts); context.is_object() && !context.empty()) {
    page += "  context\n";
    for (const auto& [name, value] : context.items()) add_json(name, value, 2, page);
  }
  add_provenance(run, result, page);
  return printable(page);  // imported text must not control the terminal
}

}  // namespace assay::cli
