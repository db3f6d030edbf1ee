#include "report/spec/read_columns.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace assay::report {
namespace {

using yaml::Node;

// Several statistics of one measure: hidden columns, joined.
void spread_statistics(const std::vector<Statistic>& statistics, const std::string& separator,
                       Column column, std::vector<Column>& columns) {
  JoinContent content{{}, separator, true};
  for (std::size_t i = 0; i < statistics.size(); ++i) {
    Column part = column;
    part.name = fmt::format("{}#{}", column.name, i);
    std::get<Measure>(part.content).statistic = statistics[i];
    part.shown = false;
    content.parts.push_back(part.name);
    columns.push_back(std::move(part));
  }
  column.content = std::move(content);
  columns.push_back(std::move(column));
}

void read_measure_column(Reader& reader, const Node& node, Column column,
                         std::vector<Column>& columns) {
  std::string separator = " ± ";
  MeasureReader measure(reader, column);
  Handlers handlers = measure.handlers();
  handlers +=
      {{"separator", [&](const Node& value) { separator = reader.text(value, "separator"); }}};
  reader.entries(node, "column '" + column.name + "'", handlers);
  if (!measure.finish(node, true)) return;
  if (measure.statistics().size() > 1) {
    spread_statistics(measure.statistics(), separator, std::move(column), columns);
  } else {
    columns.push_back(std::move(column));
  }
}

void read_axis_column(Reader& reader, const Node& node, Column column,
                      std::vector<Column>& columns) {
  AxisContent content;
  column.format.kind = Format::Kind::plain;
  Handlers handlers = look(reader, column);
  handlers += {{"axis", [&](const Node& value) { content.axis = reader.axis(value); }},
               {"unit", [&](const Node& value) { content.unit = read_unit(reader, value); }}};
  reader.entries(node, "column '" + column.name + "'", handlers);
  if (content.axis.empty()) return;
  column.content = std::move(content);
  columns.push_back(std::move(column));
}

void read_expression_column(Reader& reader, const Node& node, Column column,
                            std::vector<Column>& columns) {
  std::optional<Expression> expression;
  std::string unit;
  Handlers handlers = look(reader, column);
  handlers += {{"expr", [&](const Node& value) { expression = reader.expression(value, "expr"); }},
               {"unit", [&](const Node& value) { unit = read_unit(reader, value); }}};
  reader.entries(node, "column '" + column.name + "'", handlers);
  if (!expression) return;
  column.content = ExpressionContent{std::move(*expression), unit};
  columns.push_back(std::move(column));
}

void read_join_column(Reader& reader, const Node& node, Column column,
                      std::vector<Column>& columns) {
  JoinContent content{{}, " ", false};
  const auto parts = [&](const Node& list) {
    if (!list.is_sequence() || list.items.empty()) {
      reader.complain(list, "join must be a list of columns");
      return;
    }
    for (const Node& item : list.items) {
      if (item.is_scalar()) {
        content.parts.push_back(item.text);
        continue;
      }
      const std::string name = fmt::format("{}#{}", column.name, content.parts.size());
      const std::size_t before = columns.size();
      read_column(reader, name, item, columns);
      for (std::size_t i = before; i < columns.size(); ++i) columns[i].shown = false;
      content.parts.push_back(name);
    }
  };
  Handlers handlers = look(reader, column);
  handlers += {{"join", parts}, {"separator", [&](const Node& value) {
                                   content.separator = reader.text(value, "separator");
                                 }}};
  reader.entries(node, "column '" + column.name + "'", handlers);
  column.content = std::move(content);
  columns.push_back(std::move(column));
}

}  // namespace

void read_column(Reader& reader, const std::string& name, const Node& node,
                 std::vector<Column>& columns) {
  Column column;
  column.name = name;
  column.where = node.where;
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
  if (kind == "axis") return read_axis_column(reader, node, std::move(column), columns);
  if (kind == "metric" || kind == "rate")
    return read_measure_column(reader, node, std::move(column), columns);
  if (kind == "expr") return read_expression_column(reader, node, std::move(column), columns);
  if (kind == "join") return read_join_column(reader, node, std::move(column), columns);
  column.content = OutcomeContent();
  Handlers handlers = look(reader, column);
  handlers +=
      {{"text",
        [&](const Node& value) {
          column.content = TemplateContent{reader.text_template(value, "text")};
        }},
       {"outcome", [&](const Node& value) { reader.choice(value, "outcome of", {"row"}); }}};
  reader.entries(node, "column '" + name + "'", handlers);
  columns.push_back(std::move(column));
}

std::optional<Column> read_row_axis(Reader& reader, const Node& node) {
  Column column;
  column.where = node.where;
  column.format.kind = Format::Kind::plain;
  AxisContent content;
  if (node.is_scalar()) {
    content.axis = reader.axis(node);
    column.name = content.axis;
  } else {
    Handlers handlers = look(reader, column);
    handlers += {{"axis", [&](const Node& value) { content.axis = reader.axis(value); }},
                 {"name", [&](const Node& value) { column.name = reader.text(value, "name"); }},
                 {"unit", [&](const Node& value) { content.unit = read_unit(reader, value); }}};
    if (!reader.entries(node, "an entry of rows", handlers)) return std::nullopt;
    if (column.name.empty()) column.name = content.axis;
  }
  if (content.axis.empty()) return std::nullopt;
  column.content = std::move(content);
  return column;
}

Pivot read_pivot(Reader& reader, const Node& node) {
  Pivot pivot;
  pivot.column.where = node.where;
  pivot.column.name = "pivot";
  yaml::Node measure = node;
  measure.entries.clear();
  std::string name;
  for (const auto& entry : node.entries) {
    if (entry.first.text == "by") {
      pivot.by = reader.axes(entry.second);
    } else if (entry.first.text == "name") {
      pivot.name = reader.text_template(entry.second, "name");
    } else {
      measure.entries.push_back(entry);
    }
  }
  if (!node.find("by"))
    reader.complain(node, "a pivot needs `by`: the axes it spreads into columns");
  read_measure(reader, measure, pivot.column, true);
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
