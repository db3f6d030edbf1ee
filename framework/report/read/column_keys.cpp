#include <fmt/format.h>

#include <algorithm>

#include "report/read/read_columns.h"
#include "report/read/shapes.h"
#include "report/spec/ceiling_names.h"
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
  reader.check_value(node, "rank", word);
  measure.where.conditions.push_back({"rank", {word}});
}

void read_part(Reader& reader, const Node& node, Measure& measure) {
  std::vector<std::string> parts = reader.texts(node, "part");
  for (const std::string& part : parts) reader.check_value(node, "part", part);
  measure.where.conditions.push_back({"part", std::move(parts)});
}

void read_source(Reader& reader, const Node& node, Measure& measure) {
  const std::string word = reader.text(node, "source");
  const std::string axis =
      word.find_first_not_of("0123456789") == std::string::npos ? "source" : "run";
  reader.check_value(node, axis, word);
  measure.where.conditions.push_back({axis, {word}});
}

void read_statistics(Reader& reader, const Node& node, ColumnDraft& draft) {
  draft.stat = &node;
  for (const std::string& name : reader.texts(node, "stat")) {
    if (const auto statistic = statistic_from_text(name)) {
      draft.statistics.push_back(*statistic);
    } else {
      reader.complain_unknown(node.where, "statistic", name, statistic_names());
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

Keys<ColumnDraft> appearance_keys() {
  return within(
      &ColumnDraft::column,
      Keys<Column>{
          {"format", "Number format.", &Column::format},
          {"labels", "Shown texts by value.", &Column::labels},
          {"other", "The text of values without a label.", &Column::other_label},
          {"cells", "Texts of cells without a number.", shape::cells(), &Column::cells},
          {"align", "Alignment of its cells; by default numbers right, text left.",
           shape::choice("alignment", {"left", "right", "center"}),
           [](Column& column, const std::string& word) { column.align = word.c_str()[0]; }},
          {"show", "`false` hides it; other columns may use it.", &Column::shown}});
}

Keys<ColumnDraft> selection_keys() {
  using shape::text;
  return within(
      &ColumnDraft::measure,
      Keys<Measure>{
          {"pass", "The measured pass.", text(),
           [](Reader& reader, const Node& node, Measure& measure) {
             measure.where.conditions.push_back({"pass", {reader.pass(node)}});
           }},
          {"part", "A phase, kernel, stream or tensor.", shape::one_or_list(text()), read_part},
          {"source", "Number or name of one of several runs.", text(), read_source},
          {"rank",
           "How ranks become one figure: `max` (default), `min`, `mean` or `all`; or the number of "
           "a rank.",
           text(), read_rank},
          {"where", "Selects results: values by axis, or conditions.", shape::of_type<Filter>(),
           [](Measure& measure, const Filter& filter) { measure.where.add(filter); }},
          {"unit", "Shown unit.", shape::unit(), &Measure::unit},
          {"relative_to", "The baseline of a ratio: the same figure with these values.",
           &Measure::relative_to},
          {"ratio", "With `relative_to`: figure / baseline, or baseline / figure.",
           shape::choice("ratio", {"relative", "speedup"}),
           [](Measure& measure, const std::string& word) { measure.inverse = word == "speedup"; }},
          {"pool", "Axes whose samples are pooled.", &Measure::pool}});
}

Keys<ColumnDraft> measure_keys() {
  return selection_keys() +
         Keys<ColumnDraft>{
             {"stat", "How samples become a figure; several are joined.",
              shape::one_or_list(shape::refer("statistic")), read_statistics},
             {"metric", "Shows a metric.", &ColumnDraft::metric},
             {"rate", "Shows a counted metric divided by the time.", shape::text(),
              [](Reader& reader, const Node& node, ColumnDraft& draft) {
                draft.rate = &node;
                draft.metric = reader.metric(node);
              }},
             {"share_of", "With `rate`: its share of a ceiling of the machine.",
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
      appearance_keys() + measure_keys() +
      Keys<ColumnDraft>{
          {"separator", "Between joined parts.", &ColumnDraft::separator},
          {"axis", "Shows the value of an axis.", shape::axis(), &ColumnDraft::axis},
          {"expr", "Shows a calculation over columns and axes.", &ColumnDraft::expression},
          {"join", "Shows several columns in one cell.",
           shape::list_of(shape::text_or(shape::refer("column"))), read_parts_of_join},
          {"text", "Shows a template over columns and axes.", &ColumnDraft::text},
          {"outcome", "Shows the row's first failed outcome.", shape::words({"row"}),
           [](Reader& reader, const Node& node, ColumnDraft&) {
             reader.choice(node, "outcome of", {"row"});
           }}};
  return keys;
}

const Keys<ColumnDraft>& figure_keys() {
  static const Keys<ColumnDraft> keys = appearance_keys() + measure_keys();
  return keys;
}

const Keys<ColumnDraft>& column_keys(const std::string& kind) {
  static const Keys<ColumnDraft> of_figure = figure_keys() + only({"separator"});
  static const std::map<std::string, Keys<ColumnDraft>> by_kind = {
      {"axis", appearance_keys() + only({"axis", "unit"})},
      {"expr", appearance_keys() + only({"expr", "unit"})},
      {"join", appearance_keys() + only({"join", "separator"})},
      {"text", appearance_keys() + only({"text", "outcome"})},
      {"outcome", appearance_keys() + only({"text", "outcome"})}};
  const auto found = by_kind.find(kind);
  return found == by_kind.end() ? of_figure : found->second;
}

const Keys<ColumnDraft>& row_axis_keys() {
  static const Keys<ColumnDraft> keys =
      appearance_keys() + only({"axis", "unit"}) +
      within(&ColumnDraft::column,
             Keys<Column>{{"name", "Its heading; by default the axis.", &Column::name}});
  return keys;
}

const Keys<ColumnDraft>& pivot_keys() {
  static const Keys<ColumnDraft> keys =
      figure_keys() +
      Keys<ColumnDraft>{{"by", "Axes with a column per combination.", &ColumnDraft::by},
                        {"name", "A column's name, a template over `by`.", &ColumnDraft::text}};
  return keys;
}

}  // namespace assay::report
