#include <fmt/format.h>

#include <algorithm>

#include "report/spec/ceiling_names.h"
#include "report/spec/read_columns.h"
#include "report/spec/shapes.h"
#include "report/spec/statistic.h"

namespace assay::report {
namespace {

using yaml::Node;

void read_rank(Reader& reader, const Node& node, Measure& measure) {
  static const std::vector<std::pair<std::string, RankRule>> rules{{"max", RankRule::maximum},
                                                                   {"min", RankRule::minimum},
                                                                   {"mean", RankRule::mean},
                                                                   {"all", RankRule::pool}};
  const std::string word = reader.text(node, "rank");
  for (const auto& [name, rule] : rules) {
    if (name == word) {
      measure.ranks = rule;
      return;
    }
  }
  if (word.empty() || word.find_first_not_of("0123456789") != std::string::npos) {
    reader.complain(node, fmt::format("rank '{}' does not exist", word),
                    "a number, max, min, mean or all");
    return;
  }
  reader.value(node, "rank", word);
  measure.where.conditions.push_back({"rank", {word}});
}

void read_part(Reader& reader, const Node& node, Measure& measure) {
  std::vector<std::string> parts = reader.texts(node, "part");
  for (const std::string& part : parts) reader.value(node, "part", part);
  measure.where.conditions.push_back({"part", std::move(parts)});
}

void read_source(Reader& reader, const Node& node, Measure& measure) {
  const std::string word = reader.text(node, "source");
  const std::string axis =
      word.find_first_not_of("0123456789") == std::string::npos ? "source" : "run";
  reader.value(node, axis, word);
  measure.where.conditions.push_back({axis, {word}});
}

void read_statistics(Reader& reader, const Node& node, ColumnDraft& draft) {
  draft.stat = &node;
  for (const std::string& name : reader.texts(node, "stat")) {
    if (const auto statistic = statistic_from_text(name)) {
      draft.statistics.push_back(*statistic);
    } else {
      reader.complain(node, fmt::format("statistic '{}' does not exist", name),
                      known_names(name, statistic_names()));
    }
  }
}

void read_parts_of_join(Reader& reader, const Node& list, ColumnDraft& draft) {
  if (!list.is_sequence() || list.items.empty()) {
    reader.complain(list, "join must be a list of columns");
    return;
  }
  for (const Node& item : list.items) {
    if (item.is_scalar()) {
      draft.parts.push_back(item.text);
      continue;
    }
    draft.parts.push_back(fmt::format("{}#{}", draft.column.name, draft.parts.size()));
    const std::size_t before = draft.inner.size();
    read_column(reader, draft.parts.back(), item, draft.inner);
    for (std::size_t i = before; i < draft.inner.size(); ++i) draft.inner[i].shown = false;
  }
}

std::vector<std::string> all_ceiling_names() {
  std::vector<std::string> all;
  for (const std::string_view unit : ceiling_units) {
    for (std::string& name : ceiling_names(unit)) {
      if (std::find(all.begin(), all.end(), name) == all.end()) all.push_back(std::move(name));
    }
  }
  return all;
}

Keys<ColumnDraft> look() {
  return within(
      &ColumnDraft::column,
      Keys<Column>{
          {"format", "How a number is written.", &Column::format},
          {"labels", "What is shown for a value.", &Column::labels},
          {"other", "What is shown for a value without a label.", &Column::other_label},
          {"cells", "What is shown for a cell that is no number.", shape::cells(), &Column::cells},
          {"align", "Where its cells stand; by what it shows where left out.",
           shape::choice("alignment", {"left", "right", "center"}),
           [](Column& column, const std::string& word) { column.align = word.c_str()[0]; }},
          {"show", "false: only other columns use it.", &Column::shown}});
}

Keys<ColumnDraft> chosen_by() {
  using shape::text;
  return within(
      &ColumnDraft::measure,
      Keys<Measure>{
          {"pass", "The pass that is measured.", text(),
           [](Reader& reader, const Node& node, Measure& measure) {
             measure.where.conditions.push_back({"pass", {reader.pass(node)}});
           }},
          {"part", "Phase, kernel, stream or tensor.", shape::one_or_list(text()), read_part},
          {"source", "Number or name of a run, where several are shown.", text(), read_source},
          {"rank", "max, min, mean, all, or the number of one.", text(), read_rank},
          {"where", "Which results: values by axis, or conditions.", shape::of_type<Filter>(),
           [](Measure& measure, const Filter& filter) { measure.where.add(filter); }},
          {"unit", "The unit it is shown in.", shape::unit(), &Measure::unit},
          {"relative_to", "Divided by the same figure of that case.", &Measure::relative_to},
          {"ratio", "With relative_to: divided by that figure, or that figure by this one.",
           shape::choice("ratio", {"relative", "speedup"}),
           [](Measure& measure, const std::string& word) { measure.inverse = word == "speedup"; }},
          {"pool", "Axes whose samples are taken together.", &Measure::pool}});
}

Keys<ColumnDraft> figure() {
  return chosen_by() +
         Keys<ColumnDraft>{
             {"stat", "How samples become a number; several are joined.",
              shape::one_or_list(shape::refer("statistic")), read_statistics},
             {"metric", "Shows a figure.", &ColumnDraft::metric},
             {"rate", "A counted metric; shows it divided by the time.", shape::text(),
              [](Reader& reader, const Node& node, ColumnDraft& draft) {
                draft.rate = &node;
                draft.metric = reader.metric(node);
              }},
             {"share_of", "Of a rate: divided by this ceiling of the machine.",
              shape::suggested(all_ceiling_names()),
              [](Reader&, const Node& node, ColumnDraft& draft) { draft.share = &node; }}};
}

Keys<ColumnDraft> only(std::initializer_list<std::string_view> names) {
  Keys<ColumnDraft> keys;
  std::copy_if(column_keys().begin(), column_keys().end(), std::back_inserter(keys),
               [&](const auto& key) { return std::ranges::count(names, key.name) > 0; });
  return keys;
}

}  // namespace

const Keys<ColumnDraft>& column_keys() {
  static const Keys<ColumnDraft> keys =
      look() + figure() +
      Keys<ColumnDraft>{
          {"separator", "Between what is joined.", &ColumnDraft::separator},
          {"axis", "Shows the value of an axis.", shape::axis(), &ColumnDraft::axis},
          {"expr", "Shows a calculation over columns and axes.", &ColumnDraft::expression},
          {"join", "Shows several columns in one cell.",
           shape::list_of(shape::text_or(shape::refer("column"))), read_parts_of_join},
          {"text", "Shows a template over columns and axes.", &ColumnDraft::text},
          {"outcome", "Shows the row's first outcome that is not ok.", shape::words({"row"}),
           [](Reader& reader, const Node& node, ColumnDraft&) {
             reader.choice(node, "outcome of", {"row"});
           }}};
  return keys;
}

const Keys<ColumnDraft>& figure_keys() {
  static const Keys<ColumnDraft> keys = look() + figure();
  return keys;
}

const Keys<ColumnDraft>& column_keys(const std::string& kind) {
  static const Keys<ColumnDraft> of_figure = figure_keys() + only({"separator"});
  static const std::map<std::string, Keys<ColumnDraft>> by_kind = {
      {"axis", look() + only({"axis", "unit"})},
      {"expr", look() + only({"expr", "unit"})},
      {"join", look() + only({"join", "separator"})},
      {"text", look() + only({"text", "outcome"})},
      {"outcome", look() + only({"text", "outcome"})}};
  const auto found = by_kind.find(kind);
  return found == by_kind.end() ? of_figure : found->second;
}

const Keys<ColumnDraft>& row_axis_keys() {
  static const Keys<ColumnDraft> keys =
      look() + only({"axis", "unit"}) +
      within(&ColumnDraft::column,
             Keys<Column>{{"name", "Its heading; the axis where left out.", &Column::name}});
  return keys;
}

const Keys<ColumnDraft>& pivot_keys() {
  static const Keys<ColumnDraft> keys =
      figure_keys() +
      Keys<ColumnDraft>{{"by", "Axes whose combinations are the columns.", &ColumnDraft::by},
                        {"name", "Template of a column's name over `by`.", &ColumnDraft::text}};
  return keys;
}

}  // namespace assay::report
