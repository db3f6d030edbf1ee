#include "cli/bench/bench_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/text.h"
#include "report/document/markdown.h"
#include "report/document/markdown_table.h"
#include "report/document/table_files.h"
#include "report/spec/numbers.h"
#include "statistics/summary.h"
#include "store/records/marks.h"

namespace assay::cli {

namespace {

constexpr const char* apart_sign = "‡";

double reach(const compare::Judgement& judgement) {
  return std::max(judgement.interval.high - judgement.ratio,
                  judgement.ratio - judgement.interval.low);
}

// Two decimals, more where the error needs them: "1.31 ± 0.02", "1.012 ± 0.004".
std::string with_error(double value, double error) {
  if (!std::isfinite(error)) return report::rounded_text(value);
  const int decimals =
      error > 0 ? std::clamp(-static_cast<int>(std::floor(std::log10(error))), 2, 4) : 2;
  return fmt::format("{:.{}f} ± {:.{}f}", value, decimals, error, decimals);
}

// "1.31 ± 0.02", and where the error is large, as of single processes, the lopsided interval: "4.1
// (2.4 to 7.0)".
std::string ratio_of(const compare::Judgement& judgement) {
  const double error = reach(judgement);
  if (!(error > judgement.ratio / 2)) return with_error(judgement.ratio, error);
  return fmt::format("{} ({} to {})", report::rounded_text(judgement.ratio),
                     report::rounded_text(judgement.interval.low),
                     report::rounded_text(judgement.interval.high));
}

std::string place_of(const BenchRow& row, bool with_pass) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : row.place) {
    if (!value.empty()) parts.push_back(name + " " + value);
  }
  if (with_pass && !row.pass.empty()) parts.push_back(row.pass);
  return join(parts, ", ");
}

bool has_passes(const BenchResult& result) {
  return std::ranges::any_of(
      result.rows, [&](const BenchRow& row) { return row.pass != result.rows.front().pass; });
}

struct Unit {
  const char* name;
  double seconds;
};

// In which the shortest median is above 1.
Unit unit_of(const BenchResult& result) {
  double shortest = std::numeric_limits<double>::infinity();
  for (const BenchRow& row : result.rows) {
    if (row.measured()) shortest = std::min(shortest, row.median_s());
  }
  for (const Unit unit : {Unit{"s", 1}, Unit{"ms", 1e-3}, Unit{"µs", 1e-6}}) {
    if (std::isfinite(shortest) && shortest >= unit.seconds) return unit;
  }
  return std::isfinite(shortest) ? Unit{"ns", 1e-9} : Unit{"s", 1};
}

std::string verdict(const compare::Judgement& judgement) {
  switch (judgement.relation) {
    case compare::Relation::same:
      return "no difference";
    case compare::Relation::inconclusive:
      return "not clear";
    case compare::Relation::lower:
      return "faster";
    case compare::Relation::higher:
      return "slower";
  }
  return "";
}

// "+3.1 % ± 0.4 %" of the time; "no difference" and "unclear" have no figure to misread.
std::string change_of(const BenchRow& row) {
  if (!row.change) return "-";
  const compare::Judgement& change = *row.change;
  if (change.relation == compare::Relation::same ||
      change.relation == compare::Relation::inconclusive) {
    return verdict(change);
  }
  return fmt::format("{:+.1f} % ± {:.1f} %", 100 * (change.ratio - 1), 100 * reach(change));
}

std::string cell_or_outcome(const BenchRow& row, const std::string& text) {
  return row.measured() ? text : std::string(to_text(row.outcome));
}

std::string signs_of(const BenchRow& row) {
  return std::string(row.marks.empty() ? "" : report::mark_sign) +
         (row.apart.empty() ? "" : apart_sign);
}

nlohmann::ordered_json number(double value) {
  return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json();
}

nlohmann::ordered_json json_of(const compare::Judgement& judgement) {
  return {{"verdict", verdict(judgement)},
          {"ratio", number(judgement.ratio)},
          {"low", number(judgement.interval.low)},
          {"high", number(judgement.interval.high)},
          {"p", number(judgement.p)}};
}

nlohmann::ordered_json json_of(const BenchRow& row) {
  const auto summary = statistics::summarise(row.samples);
  nlohmann::ordered_json json = {{"variant", row.variant},
                                 {"pass", row.pass},
                                 {"place", row.place},
                                 {"outcome", to_text(row.outcome)},
                                 {"reason", row.reason},
                                 {"median_s", number(row.median_s())},
                                 {"median_reach_s", number(row.reach_s())},
                                 {"mean_s", number(summary.mean)},
                                 {"std_s", number(summary.std_sample)},
                                 {"min_s", number(summary.min)},
                                 {"max_s", number(summary.max)},
                                 {"apart", row.apart},
                                 {"samples_by_process", row.sizes},
                                 {"samples_s", row.samples}};
  if (row.change) json["change"] = json_of(*row.change);
  return json;
}

// Why no difference is shown.
std::string doubt_of(const compare::Judgement& judgement, const std::string& variant) {
  constexpr double worth_saying = 10;  // a wider interval says that nothing is known
  const auto& [low, high] = judgement.interval;
  if (!std::isfinite(low)) return judgement.reason;
  if (!(high < worth_saying * low)) return "their times vary too much between the repeats";
  return fmt::format("{} takes {} to {} times as long", variant, report::rounded_text(low),
                     report::rounded_text(high));
}

std::string in_brackets(const std::string& text) { return text.empty() ? "" : " (" + text + ")"; }

// "; marked busy or wide", or "".
std::string marks_of(const BenchRow& a, const BenchRow& b) {
  std::set<std::string> names;
  for (const BenchRow* row : {&a, &b}) {
    for (const store::Mark& mark : row->marks) names.insert(mark.mark);
  }
  if (names.empty()) return "";
  return "; marked " + join({names.begin(), names.end()}, " or ");
}

}  // namespace

std::vector<std::string> bench_sentences(const BenchResult& result) {
  std::vector<std::string> sentences;
  const bool with_pass = has_passes(result);
  for (const auto& [fastest, other, judgement] : result.comparisons) {
    const std::string where = in_brackets(place_of(*other, with_pass));
    if (judgement.relation == compare::Relation::higher) {
      sentences.push_back(fmt::format("{} ran {} times faster than {}{}", fastest->variant,
                                      ratio_of(judgement), other->variant, where));
    } else if (judgement.relation == compare::Relation::same) {
      sentences.push_back(fmt::format("No difference between {} and {}{}: less than 1 %",
                                      fastest->variant, other->variant, where));
    } else {
      sentences.push_back(fmt::format("No difference shown between {} and {}{}: {}",
                                      fastest->variant, other->variant, where,
                                      doubt_of(judgement, other->variant)));
    }
    sentences.back() += marks_of(*fastest, *other);
  }
  for (const BenchRow& row : result.rows) {
    const store::Mark* mark = row.measured() ? store::unproven(row.marks) : nullptr;
    if (mark == nullptr) continue;
    sentences.push_back(fmt::format("{}{} is compared with none: it is marked {}", row.variant,
                                    in_brackets(place_of(row, with_pass)), mark->mark));
  }
  return sentences;
}

report::TableSection bench_table(const BenchResult& result) {
  const Unit unit = unit_of(result);
  const bool with_pass = has_passes(result);
  std::vector<report::TableColumn> places;
  for (const std::string& name : result.names) places.push_back({name, {}});
  report::TableColumn variant{result.kind, {}}, pass{"pass", {}},
      median{fmt::format("median [{}]", unit.name), {}}, reach{"±", {}},
      change{"since " + result.baseline, {}};
  for (report::TableColumn* column : {&median, &reach}) column->numeric = true;
  for (const BenchRow& row : result.rows) {
    for (report::TableColumn& column : places) column.cells.push_back(row.place.at(column.name));
    variant.cells.push_back(row.variant);
    pass.cells.push_back(row.pass);
    median.cells.push_back(cell_or_outcome(
        row, report::figure_text(row.median_s() / unit.seconds, row.reach_s() / unit.seconds)));
    median.signs.push_back(signs_of(row));
    reach.cells.push_back(row.measured() ? report::uncertainty_text(row.reach_s() / unit.seconds)
                                         : "");
    change.cells.push_back(change_of(row));
  }
  report::TableSection table{std::move(places)};
  table.columns.push_back(std::move(variant));
  if (with_pass) table.columns.push_back(std::move(pass));
  table.columns.push_back(std::move(median));
  table.columns.push_back(std::move(reach));
  if (!result.baseline.empty()) table.columns.push_back(std::move(change));
  return table;
}

std::vector<std::string> bench_notes(const BenchResult& result) {
  std::vector<std::string> notes;
  const auto note = [&](std::string text) {
    if (std::ranges::count(notes, text) == 0) notes.push_back(std::move(text));
  };
  std::map<std::string, std::pair<std::string, std::size_t>> marks;  // first reason, rows
  for (const BenchRow& row : result.rows) {
    std::set<std::string> names;
    for (const store::Mark& mark : row.marks) {
      if (!names.insert(mark.mark).second) continue;
      auto& [reason, rows] = marks.try_emplace(mark.mark, mark.reason, 0).first->second;
      ++rows;
    }
  }
  for (const auto& [mark, why] : marks) {
    note(fmt::format("{} {}: {}{}", report::mark_sign, mark, why.first,
                     why.second > 1 ? fmt::format(" (and {} more)", why.second - 1) : ""));
  }
  for (const BenchRow& row : result.rows) {
    if (!row.apart.empty()) {
      note(fmt::format("{} {} did not take turns: {}", apart_sign, row.variant, row.apart));
    }
    if (row.outcome != Outcome::ok) {
      note(fmt::format("{} is {}{}{}", row.variant, to_text(row.outcome),
                       row.reason.empty() ? "" : ": ", row.reason));
    }
  }
  return notes;
}

std::string bench_text(const BenchResult& result) {
  std::string text = report::terminal_table(bench_table(result), 0);
  for (const std::string& note : bench_notes(result)) text += note + "\n";
  if (!result.comparisons.empty()) text += "\n";
  for (const std::string& sentence : bench_sentences(result)) text += sentence + "\n";
  return text;
}

std::string bench_markdown(const BenchResult& result) {
  std::string text = report::markdown_table(bench_table(result)) + "\n";
  for (const std::string& note : bench_notes(result)) text += report::escape_cell(note) + "\n\n";
  for (const std::string& sentence : bench_sentences(result)) {
    text += "- " + report::escape_cell(sentence) + "\n";
  }
  return text;
}

std::string bench_csv(const BenchResult& result) {
  std::string text;
  for (const std::string& name : result.names) text += report::csv_cell(name) + ",";
  text += report::csv_cell(result.kind) +
          ",pass,outcome,median_s,median_reach_s,mean_s,std_s,min_s,max_s,samples\n";
  for (const BenchRow& row : result.rows) {
    for (const std::string& name : result.names) text += report::csv_cell(row.place.at(name)) + ",";
    text += fmt::format("{},{},{}", report::csv_cell(row.variant), report::csv_cell(row.pass),
                        to_text(row.outcome));
    const auto summary = statistics::summarise(row.samples);
    for (const double figure : {row.median_s(), row.reach_s(), summary.mean, summary.std_sample,
                                summary.min, summary.max}) {
      text += std::isfinite(figure) ? fmt::format(",{}", figure) : ",";
    }
    text += fmt::format(",{}\n", row.samples.size());
  }
  return text;
}

nlohmann::ordered_json bench_json(const BenchResult& result) {
  nlohmann::ordered_json json = {{"run", result.run},
                                 {"kind", result.kind},
                                 {"baseline", result.baseline},
                                 {"results", nlohmann::ordered_json::array()},
                                 {"comparisons", nlohmann::ordered_json::array()}};
  for (const BenchRow& row : result.rows) json["results"].push_back(json_of(row));
  for (const auto& [fastest, other, judgement] : result.comparisons) {
    nlohmann::ordered_json entry = {{"fastest", fastest->variant},
                                    {"other", other->variant},
                                    {"pass", other->pass},
                                    {"place", other->place}};
    entry.update(json_of(judgement));
    json["comparisons"].push_back(std::move(entry));
  }
  return json;
}

}  // namespace assay::cli
