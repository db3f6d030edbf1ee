#include "report/read_columns.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "report/reduce.h"
#include "report/units.h"

namespace assay::report {
namespace {

using Handlers = std::vector<std::pair<std::string, Reader::Handler>>;
using yaml::Node;

// How a column looks, whatever it shows.
Handlers look(Reader& reader, Column& column) {
  return {
      {"format", [&](const Node& node) { column.format = reader.format(node); }},
      {"labels", [&](const Node& node) { column.labels = reader.text_map(node, "labels"); }},
      {"other", [&](const Node& node) { column.other_label = reader.text(node, "other"); }},
      {"cells", [&](const Node& node) { column.cells = reader.cells(node); }},
      {"align",
       [&](const Node& node) {
         const std::string word = reader.choice(node, "alignment", {"left", "right", "center"});
         column.align = word.empty() ? '\0' : word.front();
       }},
      {"show", [&](const Node& node) { column.shown = reader.boolean(node, "show"); }},
  };
}

Handlers& operator+=(Handlers& handlers, Handlers more) {
  std::move(more.begin(), more.end(), std::back_inserter(handlers));
  return handlers;
}

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

Handlers selection(Reader& reader, Measure& measure, std::vector<Statistic>& statistics) {
  return {
      {"pass",
       [&](const Node& node) {
         measure.where.conditions.push_back({"pass", {reader.pass(node)}});
       }},
      {"part",
       [&](const Node& node) {
         std::vector<std::string> parts = reader.texts(node, "part");
         for (const std::string& part : parts) reader.value(node, "part", part);
         measure.where.conditions.push_back({"part", std::move(parts)});
       }},
      {"source",
       [&](const Node& node) {
         const std::string word = reader.text(node, "source");
         const bool number = word.find_first_not_of("0123456789") == std::string::npos;
         reader.value(node, number ? "source" : "run", word);
         measure.where.conditions.push_back({number ? "source" : "run", {word}});
       }},
      {"rank", [&](const Node& node) { read_rank(reader, node, measure); }},
      {"where", [&](const Node& node) { measure.where.add(reader.filter(node)); }},
      {"stat",
       [&](const Node& node) {
         for (const std::string& name : reader.texts(node, "stat")) {
           if (const auto statistic = statistic_from_text(name)) {
             statistics.push_back(*statistic);
           } else {
             reader.complain(node, fmt::format("statistic '{}' does not exist", name),
                             known_names(name, statistic_names()));
           }
         }
       }},
      {"unit", [&](const Node& node) { measure.unit = read_unit(reader, node); }},
      {"relative_to", [&](const Node& node) { measure.relative_to = reader.filter(node); }},
      {"ratio",
       [&](const Node& node) {
         measure.inverse = reader.choice(node, "ratio", {"relative", "speedup"}) == "speedup";
       }},
      {"pool", [&](const Node& node) { measure.pool = reader.axes(node); }},
  };
}

void check_unit(Reader& reader, const Node& node, const MetricInfo& metric, Column& column,
                bool needs_unit) {
  auto& measure = std::get<Measure>(column.content);
  const bool plain = metric.unit.empty() || metric.unit == "count";
  if (!has_unit(measure.statistic) || measure.relative_to) return;
  if (!measure.unit.empty()) {
    if (same_dimension(measure.unit, metric.unit)) return;
    reader.complain(
        *node.find("unit"),
        fmt::format("{} is measured in {}, which '{}' cannot show", metric.name,
                    plain ? "plain numbers" : metric.unit, measure.unit),
        plain ? "leave the unit out" : "units for it: " + join(units_for(metric.unit), ", "));
  } else if (needs_unit && !plain && !column.format.carries_unit()) {
    reader.complain(node,
                    fmt::format("'{}' shows {} without naming a unit", column.name, metric.name),
                    "units for it: " + join(units_for(metric.unit), ", "));
  }
}

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
  std::vector<Statistic> statistics;
  column.content = Measure();
  auto& measure = std::get<Measure>(column.content);
  const MetricInfo* metric = nullptr;
  Handlers handlers = look(reader, column);
  handlers += selection(reader, measure, statistics);
  handlers +=
      {{"metric", [&](const Node& value) { metric = reader.metric(value); }},
       {"separator", [&](const Node& value) { separator = reader.text(value, "separator"); }}};
  reader.entries(node, "column '" + column.name + "'", handlers);
  if (!metric) return;
  measure.metric = metric->name;
  if (!statistics.empty()) measure.statistic = statistics.front();
  check_unit(reader, node, *metric, column, true);
  if (statistics.size() > 1) {
    spread_statistics(statistics, separator, std::move(column), columns);
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

std::string read_unit(Reader& reader, const Node& node) {
  const std::string name = reader.text(node, "unit");
  if (!store::unit_named(name) && reader.known().metric(name) == nullptr) {
    const auto& metrics = reader.known().metrics;
    const bool of_metric =
        std::any_of(metrics.begin(), metrics.end(),
                    [&](const MetricInfo& metric) { return metric.unit == name; });
    if (!of_metric) {
      reader.complain(node, fmt::format("unit '{}' does not exist", name),
                      known_names(name, store::known_units()));
    }
  }
  return name;
}

void read_measure(Reader& reader, const Node& node, Column& column, bool needs_unit) {
  std::vector<Statistic> statistics;
  column.content = Measure();
  auto& measure = std::get<Measure>(column.content);
  const MetricInfo* metric = nullptr;
  Handlers handlers = look(reader, column);
  handlers += selection(reader, measure, statistics);
  handlers += {{"metric", [&](const Node& value) { metric = reader.metric(value); }}};
  if (!reader.entries(node, "'" + column.name + "'", handlers)) return;
  if (!node.find("metric")) reader.complain(node, fmt::format("'{}' names no metric", column.name));
  if (!metric) return;
  measure.metric = metric->name;
  if (!statistics.empty()) measure.statistic = statistics.front();
  if (statistics.size() > 1) reader.complain(*node.find("stat"), "one statistic here, not several");
  check_unit(reader, node, *metric, column, needs_unit);
}

void read_column(Reader& reader, const std::string& name, const Node& node,
                 std::vector<Column>& columns) {
  Column column;
  column.name = name;
  column.where = node.where;
  static const std::vector<std::string> kinds{"axis", "metric", "expr", "join", "text", "outcome"};
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
  if (kind == "metric") return read_measure_column(reader, node, std::move(column), columns);
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
