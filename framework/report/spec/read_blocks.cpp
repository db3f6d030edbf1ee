#include "report/spec/read_blocks.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/spec/read_columns.h"
#include "report/spec/read_grid.h"

namespace assay::report {
namespace {

using Handlers = std::vector<std::pair<std::string, Reader::Handler>>;
using yaml::Node;

std::vector<Each> read_each(Reader& reader, const Node& node) {
  std::vector<Each> all;
  if (!node.is_mapping()) {
    reader.complain(node, "each must be a mapping", "each: {rank: \"  Rank {rank}: {time} ms\"}");
    return all;
  }
  for (const auto& [name, value] : node.entries) {
    Each each;
    each.name = name.text;
    if (value.is_scalar()) {
      each.over = {reader.axis(name)};
      each.row = reader.text_template(value, "each");
    } else {
      reader.entries(
          value, "each." + name.text,
          {{"over", [&](const Node& n) { each.over = reader.axes(n); }},
           {"row", [&](const Node& n) { each.row = reader.text_template(n, "row"); }},
           {"separator", [&](const Node& n) { each.separator = reader.text(n, "separator"); }}});
      if (!value.find("over")) each.over = {reader.axis(name)};
    }
    all.push_back(std::move(each));
  }
  return all;
}

Group read_group(Reader& reader, const Node& node) {
  Group group;
  const auto part = [&](Template& text, bool& has) {
    return [&](const Node& value) {
      text = reader.text_template(value, "group");
      has = true;
    };
  };
  reader.entries(node, "group",
                 {{"by", [&](const Node& value) { group.by = reader.axes(value); }},
                  {"before", part(group.before, group.has_before)},
                  {"between", part(group.between, group.has_between)},
                  {"after", part(group.after, group.has_after)}});
  if (!node.find("by")) reader.complain(node, "a group needs `by`: the axes it groups rows by");
  return group;
}

void check_text_names(Reader& reader, TextSpec& text, const Node& node) {
  NameCheck names(reader, text.grid, node);
  names.columns();
  std::vector<std::string> each_names;
  for (const Each& each : text.each) each_names.push_back("each." + each.name);
  for (const auto* part : {&text.before, &text.header, &text.between, &text.after}) {
    if (*part) names.rows_template(**part);
  }
  if (text.row) names.row_template(*text.row, each_names);
  for (const auto& [outcome, row] : text.row_when) names.row_template(row, each_names);
  for (const Each& each : text.each) names.row_template(each.row, each.over);
  if (text.group) {
    for (const std::string& axis : text.group->by) {
      if (!std::count(text.grid.keys.begin(), text.grid.keys.end(), axis))
        text.grid.keys.push_back(axis);
    }
    names.rows_template(text.group->before);
    names.rows_template(text.group->between);
    names.rows_template(text.group->after);
  }
  // What only an `each` repeats over tells its own rows apart, not the block's.
  for (const Each& each : text.each) {
    for (const std::string& axis : each.over) {
      const auto shows = [&](const Column& column) {
        const auto* content = std::get_if<AxisContent>(&column.content);
        return content && content->axis == axis;
      };
      if (std::none_of(text.grid.columns.begin(), text.grid.columns.end(), shows)) {
        auto& keys = text.grid.keys;
        keys.erase(std::remove(keys.begin(), keys.end(), axis), keys.end());
      }
    }
  }
}

}  // namespace

void check_title(Reader& reader, const Template& title, const std::vector<std::string>& for_each) {
  for (const std::string& name : title.names()) {
    if (!std::count(for_each.begin(), for_each.end(), name)) {
      reader.complain(title.where,
                      fmt::format("the title uses '{}', which is not in `for_each`", name),
                      known_names(name, for_each));
    }
  }
}

TableSpec read_table(Reader& reader, const Node& node) {
  TableSpec table;
  Handlers handlers = grid_handlers(reader, table.grid);
  const Handlers own{
      {"index", [&](const Node& value) { table.index = reader.boolean(value, "index"); }},
      {"title", [&](const Node& value) { table.title = reader.text_template(value, "title"); }},
      {"for_each", [&](const Node& value) { table.for_each = reader.axes(value); }},
      {"summary", [&](const Node& value) {
         for (const Node& item : value.is_sequence() ? value.items : std::vector{value}) {
           table.summary.push_back(reader.text_template(item, "summary"));
         }
       }}};
  handlers.insert(handlers.end(), own.begin(), own.end());
  if (!reader.entries(node, "table", handlers)) return table;
  if (!node.find("columns") && !node.find("pivot")) {
    reader.complain(node, "a table needs `columns` or `pivot`");
  }
  NameCheck names(reader, table.grid, node);
  names.columns();
  for (const Template& line : table.summary) names.rows_template(line);
  table.grid.varying_rows = table.grid.keys.empty();
  check_title(reader, table.title, table.for_each);
  return table;
}

TextSpec read_text(Reader& reader, const Node& node) {
  TextSpec text;
  const auto part = [&](std::optional<Template>& target) {
    return [&](const Node& value) { target = reader.text_template(value, "text"); };
  };
  Handlers handlers = grid_handlers(reader, text.grid);
  const Handlers own{
      {"before", part(text.before)},
      {"header", part(text.header)},
      {"row", part(text.row)},
      {"between", part(text.between)},
      {"after", part(text.after)},
      {"row_when",
       [&](const Node& value) {
         for (const auto& [outcome, row] : value.entries) {
           for (const Outcome which : reader.outcomes(outcome)) {
             text.row_when[which] = reader.text_template(row, "row_when");
           }
         }
       }},
      {"each", [&](const Node& value) { text.each = read_each(reader, value); }},
      {"group", [&](const Node& value) { text.group = read_group(reader, value); }},
      {"title", [&](const Node& value) { text.title = reader.text_template(value, "title"); }},
      {"for_each", [&](const Node& value) { text.for_each = reader.axes(value); }}};
  handlers.insert(handlers.end(), own.begin(), own.end());
  if (!reader.entries(node, "text", handlers)) return text;
  if (!text.row) reader.complain(node, "a text block needs `row`: the template of one row");
  check_text_names(reader, text, node);
  text.grid.varying_rows = text.grid.keys.empty();
  check_title(reader, text.title, text.for_each);
  return text;
}

PlotSpec read_plot(Reader& reader, const Node& node) {
  PlotSpec plot;
  plot.at = node.where;
  Column y;
  y.name = "y";
  y.where = node.where;
  const auto scale = [&](const Node& value) {
    const std::string word = reader.choice(value, "scale", {"linear", "log-log", "log-x", "log-y"});
    plot.log_x = word == "log-log" || word == "log-x";
    plot.log_y = word == "log-log" || word == "log-y";
  };
  const auto bars = [&](const Node& value) {
    const std::string word = reader.choice(value, "error bars", {"none", "std", "interval"});
    plot.bars = word == "none"       ? PlotSpec::Bars::none
                : word == "interval" ? PlotSpec::Bars::interval
                                     : PlotSpec::Bars::std;
  };
  const bool read = reader.entries(
      node, "plot",
      {{"x", [&](const Node& value) { plot.x = reader.axis(value); }},
       {"x_unit", [&](const Node& value) { plot.x_unit = read_unit(reader, value); }},
       {"y", [&](const Node& value) { read_measure(reader, value, y, false); }},
       {"series", [&](const Node& value) { plot.series = reader.axes(value); }},
       {"labels", [&](const Node& value) { plot.labels = reader.text_map(value, "labels"); }},
       {"where", [&](const Node& value) { plot.where.add(reader.filter(value)); }},
       {"scale", scale},
       {"bars", bars},
       {"y_title", [&](const Node& value) { plot.y_title = reader.text(value, "y_title"); }},
       {"title", [&](const Node& value) { plot.title = reader.text_template(value, "title"); }},
       {"for_each", [&](const Node& value) { plot.for_each = reader.axes(value); }}});
  if (!read) return plot;
  for (const char* key : {"x", "y"}) {
    if (!node.find(key)) reader.complain(node, fmt::format("a plot needs `{}`", key));
  }
  if (const auto* measure = std::get_if<Measure>(&y.content)) plot.y = *measure;
  check_title(reader, plot.title, plot.for_each);
  return plot;
}

FindingsSpec read_findings(Reader& reader, const Node& node) {
  static const std::vector<std::string> kinds{"speedup", "scaling", "warmup", "noise", "failures"};
  FindingsSpec result;
  const auto add = [&](const Node& kind, const Node* options) {
    FindingSpec finding;
    finding.kind = reader.choice(kind, "finding", kinds);
    if (options) {
      std::vector<std::pair<std::string, Reader::Handler>> entries = {
          {"axis", [&](const Node& value) { finding.axis = reader.axis(value); }},
          {"baseline",
           [&](const Node& value) { finding.baseline = reader.text(value, "baseline"); }},
          {"where", [&](const Node& value) { finding.where = reader.filter(value); }}};
      if (finding.kind == "speedup") {
        entries.push_back({"by", [&](const Node& value) { finding.by = reader.axis(value); }});
      }
      reader.entries(*options, "finding " + finding.kind, entries);
    }
    if (options && !finding.axis.empty() && options->find("baseline")) {
      reader.value(*options->find("baseline"), finding.axis, finding.baseline);
    }
    if (!finding.kind.empty()) result.findings.push_back(std::move(finding));
  };
  for (const Node& item : node.is_sequence() ? node.items : std::vector{node}) {
    if (item.is_mapping()) {
      for (const auto& [kind, options] : item.entries) add(kind, &options);
    } else {
      add(item, nullptr);
    }
  }
  return result;
}

}  // namespace assay::report
