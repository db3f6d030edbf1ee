#include "compare/render.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/case_key.h"
#include "base/text.h"
#include "report/document/document.h"
#include "report/document/markdown_table.h"
#include "report/spec/numbers.h"
#include "report/spec/units.h"
#include "store/records/json.h"

namespace assay::compare {
namespace {

using report::TableColumn;
using report::TableSection;

std::string rule_of(const Question& question) {
  return fmt::format(
      "{}, B against A: a difference counts when it is significant at {} and at least {} large.",
      question.metric, percentage(question.criteria.significance),
      percentage(question.criteria.least));
}

std::vector<std::string> varying(const std::vector<Row>& rows) {
  std::map<std::string, std::set<std::string>> values;
  std::map<std::string, std::size_t> holders;
  for (const Row& row : rows) {
    for (const auto& [name, value] : row.parameters) {
      values[name].insert(assay::to_text(value));
      ++holders[name];
    }
  }
  std::vector<std::string> names;
  for (const auto& [name, texts] : values) {
    if (texts.size() > 1 || holders[name] < rows.size()) names.push_back(name);
  }
  return names;
}

// By each unit of the rows the one that their figures are shown in: that of the smallest.
std::map<std::string, std::string> units_shown(const std::vector<Row>& rows) {
  std::map<std::string, double> smallest;
  for (const Row& row : rows) {
    for (const double median : {row.a.median, row.b.median}) {
      if (!std::isfinite(median) || median == 0) continue;
      double& least = smallest.try_emplace(row.unit, std::abs(median)).first->second;
      least = std::min(least, std::abs(median));
    }
  }
  std::map<std::string, std::string> shown;
  for (const auto& [unit, least] : smallest) shown[unit] = report::sensible_unit(least, unit);
  return shown;
}

std::string figure(double value, const std::string& unit,
                   const std::map<std::string, std::string>& units) {
  if (!std::isfinite(value)) return "";
  const auto known = units.find(unit);
  const std::string& shown = known == units.end() ? unit : known->second;
  const std::string number = report::figure_text(report::convert(value, unit, shown));
  return shown.empty() || shown == "count" ? number : number + " " + shown;
}

std::string ratio(double value) { return std::isfinite(value) ? fmt::format("{:.4f}", value) : ""; }

std::string interval(const Row& row) {
  const statistics::Interval& ends = row.judgement.interval;
  if (!std::isfinite(ends.low) || !std::isfinite(ends.high)) return "";
  return fmt::format("{:.4f} to {:.4f}", ends.low, ends.high);
}

template <class Cell>
TableColumn column(const std::vector<Row>& rows, std::string name, char align, const Cell& cell) {
  TableColumn made{std::move(name), {}, align, false};
  for (const Row& row : rows) made.cells.push_back(cell(row));
  return made;
}

TableSection table_of(const Comparison& comparison) {
  const std::vector<Row>& rows = comparison.rows;
  TableSection table;
  for (const std::string& name : varying(rows)) {
    table.columns.push_back(column(
        rows, name, 'l', [&](const Row& row) { return store::text_of(row.parameters, name); }));
  }
  table.columns.push_back(column(rows, "pass", 'l', [](const Row& row) { return row.pass; }));
  if (std::any_of(rows.begin(), rows.end(), [](const Row& row) { return !row.part.empty(); })) {
    table.columns.push_back(column(rows, "part", 'l', [](const Row& row) { return row.part; }));
  }
  const std::map<std::string, std::string> units = units_shown(rows);
  for (const auto& [name, side] : {std::pair("A", &Row::a), std::pair("B", &Row::b)}) {
    table.columns.push_back(column(rows, name, 'r', [&](const Row& row) {
      const std::string& words = (row.*side).words;
      const std::string shown = words.empty() ? figure((row.*side).median, row.unit, units) : words;
      return shown.empty() || (row.*side).marks.empty() ? shown : shown + report::mark_sign;
    }));
  }
  table.columns.push_back(
      column(rows, "B / A", 'r', [](const Row& row) { return ratio(row.judgement.ratio); }));
  const std::string level =
      fmt::format("{} interval", percentage(1 - comparison.question.criteria.significance));
  table.columns.push_back(column(rows, level, 'l', interval));
  table.columns.push_back(column(rows, "verdict", 'l',
                                 [](const Row& row) { return std::string(to_text(row.verdict)); }));
  return table;
}

std::string row_name(const Row& row, const std::vector<std::string>& names) {
  std::vector<std::string> parts;
  for (const std::string& name : names) {
    if (const std::string value = store::text_of(row.parameters, name); !value.empty()) {
      parts.push_back(name + " " + value);
    }
  }
  for (const std::string& text : {row.pass, row.part}) {
    if (!text.empty()) parts.push_back(text);
  }
  return parts.empty() ? "the only case" : join(parts, ", ");
}

std::string first_of(const std::vector<std::string>& rows) {
  constexpr std::size_t rows_named = 4;
  const std::size_t named = std::min(rows_named, rows.size());
  std::string text = join({rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(named)}, "; ");
  if (rows.size() > named) text += fmt::format("; and {} more", rows.size() - named);
  return text;
}

std::string first_reason(const Comparison& comparison, std::string_view side,
                         const std::string& mark) {
  for (const Row& row : comparison.rows) {
    for (const store::Mark& one : (side == "A" ? row.a : row.b).marks) {
      if (one.mark == mark) return one.reason;
    }
  }
  return {};
}

using Causes = std::vector<std::pair<std::string, std::vector<std::string>>>;

void add_cause(const std::string& cause, const std::string& row, Causes& causes) {
  auto known = std::find_if(causes.begin(), causes.end(),
                            [&](const auto& entry) { return entry.first == cause; });
  if (known == causes.end()) known = causes.insert(known, {cause, {}});
  if (known->second.empty() || known->second.back() != row) known->second.push_back(row);
}

// One line for each reason and each kind of mark on a side, with its rows.
std::vector<std::string> reasons_of(const Comparison& comparison) {
  const std::vector<std::string> names = varying(comparison.rows);
  Causes causes;
  for (const Row& row : comparison.rows) {
    const std::string name = row_name(row, names);
    if (!row.reason.empty()) {
      add_cause(std::string(to_text(row.verdict)) + ": " + row.reason, name, causes);
    }
  }
  for (const Row& row : comparison.rows) {
    for (const auto& [side, figures] : {std::pair("A", &row.a), std::pair("B", &row.b)}) {
      for (const store::Mark& mark : figures->marks) {
        add_cause(fmt::format("{} {}: {}, for example: {}", report::mark_sign, side, mark.mark,
                              first_reason(comparison, side, mark.mark)),
                  row_name(row, names), causes);
      }
    }
  }
  std::vector<std::string> lines;
  for (const auto& [cause, rows] : causes) {
    lines.push_back(fmt::format("{} ({})", cause, first_of(rows)));
  }
  return lines;
}

std::map<Verdict, int> counts_of(const Comparison& comparison) {
  std::map<Verdict, int> counts;
  for (const Row& row : comparison.rows) ++counts[row.verdict];
  return counts;
}

std::string summary_of(const Comparison& comparison) {
  std::vector<std::string> parts;
  for (const auto& [verdict, count] : counts_of(comparison)) {
    parts.push_back(fmt::format("{} {}", count, to_text(verdict)));
  }
  return join(parts, ", ") + ".";
}

std::string or_unknown(const std::string& text) { return text.empty() ? "unknown" : text; }

nlohmann::ordered_json figures_to_json(const Figures& figures) {
  nlohmann::ordered_json marks = nlohmann::ordered_json::array();
  for (const store::Mark& mark : figures.marks) {
    marks.push_back({{"mark", mark.mark}, {"reason", mark.reason}});
  }
  nlohmann::ordered_json object = {
      {"n", figures.n},
      {"marks", marks},
      {"median", std::isfinite(figures.median) ? nlohmann::ordered_json(figures.median)
                                               : nlohmann::ordered_json()}};
  if (!figures.words.empty()) object["words"] = figures.words;
  return object;
}

nlohmann::ordered_json row_to_json(const Row& row) {
  const auto finite = [](double value) {
    return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json();
  };
  return {{"case", store::to_json(row.parameters)},
          {"key", sha256_hex(case_key_text(row.parameters))},
          {"pass", row.pass},
          {"part", row.part},
          {"unit", row.unit},
          {"verdict", to_text(row.verdict)},
          {"ratio", finite(row.judgement.ratio)},
          {"low", finite(row.judgement.interval.low)},
          {"high", finite(row.judgement.interval.high)},
          {"p", finite(row.judgement.p)},
          {"a", figures_to_json(row.a)},
          {"b", figures_to_json(row.b)},
          {"reason", row.reason}};
}

}  // namespace

std::string row_names(const Comparison& comparison, const std::vector<std::size_t>& places) {
  const std::vector<std::string> names = varying(comparison.rows);
  std::vector<std::string> rows;
  for (const std::size_t place : places) rows.push_back(row_name(comparison.rows[place], names));
  return first_of(rows);
}

std::string to_terminal(const Comparison& comparison) {
  std::string text =
      fmt::format("A: {}\nB: {}\n{}\n", comparison.a, comparison.b, rule_of(comparison.question));
  if (!comparison.differences.empty()) text += "\nNot the same on both sides:\n";
  for (const Difference& each : comparison.differences) {
    text += fmt::format("  {}: A {}; B {}\n", each.what, or_unknown(each.a), or_unknown(each.b));
  }
  text += "\n" + report::terminal_table(table_of(comparison), 0);
  text += "\n" + summary_of(comparison) + "\n";
  for (const std::string& line : reasons_of(comparison)) text += "  " + line + "\n";
  for (const std::string& caution : comparison.cautions) text += caution + "\n";
  return text;
}

std::string to_markdown(const Comparison& comparison) {
  const auto escaped = [](const std::string& text) { return report::escape_cell(text); };
  std::string text = fmt::format("# {} against {}\n\n{}\n\n", escaped(comparison.b),
                                 escaped(comparison.a), rule_of(comparison.question));
  if (!comparison.differences.empty()) {
    TableSection table{{{"not the same", {}, 'l'}, {"A", {}, 'l'}, {"B", {}, 'l'}}};
    for (const Difference& each : comparison.differences) {
      table.columns[0].cells.push_back(each.what);
      table.columns[1].cells.push_back(or_unknown(each.a));
      table.columns[2].cells.push_back(or_unknown(each.b));
    }
    text += report::markdown_table(table) + "\n";
  }
  text += report::markdown_table(table_of(comparison));
  text += "\n" + summary_of(comparison) + "\n";
  const std::vector<std::string> reasons = reasons_of(comparison);
  if (!reasons.empty()) text += "\n";
  for (const std::string& line : reasons) text += "- " + escaped(line) + "\n";
  for (const std::string& caution : comparison.cautions) text += "\n" + escaped(caution) + "\n";
  return text;
}

nlohmann::ordered_json to_json(const Comparison& comparison) {
  nlohmann::ordered_json differences = nlohmann::ordered_json::array();
  for (const Difference& each : comparison.differences) {
    differences.push_back({{"what", each.what}, {"a", each.a}, {"b", each.b}});
  }
  nlohmann::ordered_json counts = nlohmann::ordered_json::object();
  for (const auto& [verdict, count] : counts_of(comparison))
    counts[std::string(to_text(verdict))] = count;
  nlohmann::ordered_json results = nlohmann::ordered_json::array();
  for (const Row& row : comparison.rows) results.push_back(row_to_json(row));
  const Question& question = comparison.question;
  return {{"a", comparison.a},
          {"b", comparison.b},
          {"metric", question.metric},
          {"significance", question.criteria.significance},
          {"least", question.criteria.least},
          {"between_runs",
           {{"gpu", question.between_runs.value_or(between_runs_on_gpu)},
            {"cpu", question.between_runs.value_or(between_runs_on_cpu)}}},
          {"differences", differences},
          {"cautions", comparison.cautions},
          {"counts", counts},
          {"results", results}};
}

}  // namespace assay::compare
