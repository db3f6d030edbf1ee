#include "report/read/read_columns.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace assay::report {
namespace {

using yaml::Node;

JoinContent spread_statistics(const ColumnDraft& draft, std::vector<Column>& columns) {
  JoinContent content{{}, draft.separator.value_or(" ± "), true};
  for (std::size_t i = 0; i < draft.statistics.size(); ++i) {
    Column part = draft.column;
    part.name = fmt::format("{}#{}", draft.column.name, i);
    std::get<Measure>(part.content).statistic = draft.statistics[i];
    part.shown = false;
    content.parts.push_back(part.name);
    columns.push_back(std::move(part));
  }
  return content;
}

// Sets the draft's content and adds its hidden columns to `columns`. False: nothing to show.
bool finish_column(Reader& reader, const std::string& kind, const Node& node, ColumnDraft& draft,
                   std::vector<Column>& columns) {
  auto& content = draft.column.content;
  if (kind == "axis") {
    content = AxisContent{draft.axis, draft.measure.unit};
    return !draft.axis.empty();
  }
  if (kind == "metric" || kind == "rate") {
    if (!finish_figure(reader, node, draft, true)) return false;
    if (draft.statistics.size() > 1) content = spread_statistics(draft, columns);
  } else if (kind == "expr") {
    if (!draft.expression) return false;
    content = ExpressionContent{std::move(*draft.expression), draft.measure.unit};
  } else if (kind == "join") {
    std::move(draft.inner.begin(), draft.inner.end(), std::back_inserter(columns));
    content = JoinContent{std::move(draft.parts), draft.separator.value_or(" "), false};
  } else if (draft.text) {
    content = TemplateContent{std::move(*draft.text)};
  } else {
    content = OutcomeContent();
  }
  return true;
}

}  // namespace

void read_column(Reader& reader, const std::string& name, const Node& node,
                 std::vector<Column>& columns) {
  static const std::vector<std::string> kinds{"axis", "metric", "rate",   "expr",
                                              "join", "text",   "outcome"};
  std::vector<std::string> present;
  for (const std::string& kind : kinds) {
    if (node.find(kind)) present.push_back(kind);
  }
  if (!node.is_mapping() || present.size() != 1) {
    reader.complain(node, fmt::format("column '{}' must show one thing", name),
                    "give it one of " + join(kinds, ", "));
    return;
  }
  const std::string& kind = present.front();
  ColumnDraft draft;
  draft.column.name = name;
  draft.column.where = node.where;
  if (kind == "axis") draft.column.format.kind = Format::Kind::plain;
  reader.entries(node, "column '" + name + "'", column_keys(kind), draft);
  if (finish_column(reader, kind, node, draft, columns)) {
    columns.push_back(std::move(draft.column));
  }
}

std::optional<Column> read_row_axis(Reader& reader, const Node& node) {
  ColumnDraft draft;
  draft.column.where = node.where;
  draft.column.format.kind = Format::Kind::plain;
  if (node.is_scalar()) {
    draft.axis = reader.axis(node);
  } else if (!reader.entries(node, "an entry of rows", row_axis_keys(), draft)) {
    return std::nullopt;
  }
  if (draft.axis.empty()) return std::nullopt;
  if (draft.column.name.empty()) draft.column.name = draft.axis;
  draft.column.content = AxisContent{std::move(draft.axis), std::move(draft.measure.unit)};
  return std::move(draft.column);
}

Pivot read_pivot(Reader& reader, const Node& node) {
  ColumnDraft draft;
  draft.column.where = node.where;
  draft.column.name = "pivot";
  draft.column.content = Measure();
  if (!node.find("by"))
    reader.complain(node, "a pivot needs `by`: the axes it spreads into columns");
  read_figure(reader, node, pivot_keys(), draft, true);
  Pivot pivot{std::move(draft.by), std::move(draft.column), draft.text.value_or(Template())};
  if (pivot.name.empty()) {
    std::string pattern;
    for (const std::string& axis : pivot.by) pattern += (pattern.empty() ? "{" : " {") + axis + "}";
    if (auto parsed = Template::parse(pattern)) pivot.name = std::move(*parsed);
  }
  for (const std::string& field : pivot.name.names()) {
    if (!std::count(pivot.by.begin(), pivot.by.end(), field)) {
      reader.complain(node,
                      fmt::format("the pivot's name uses '{}', which is not in its `by`", field),
                      known_names(field, pivot.by));
    }
  }
  return pivot;
}

}  // namespace assay::report
