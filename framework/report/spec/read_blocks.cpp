#include "report/spec/read_blocks.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/spec/read_columns.h"
#include "report/spec/read_grid.h"
#include "report/spec/shapes.h"

namespace assay::report {
namespace {

using yaml::Node;

const Keys<Each>& each_keys() {
  static const Keys<Each> keys = {
      {"over", "Axes it is repeated over; its own name where left out.", &Each::over},
      {"row", "Template of one line.", &Each::row},
      {"separator", "Between what is joined.", &Each::separator}};
  return keys;
}

void read_each(Reader& reader, const Node& node, TextSpec& text) {
  if (!node.is_mapping()) {
    reader.complain(node, "each must be a mapping", "each: {rank: \"  Rank {rank}: {time} ms\"}");
    return;
  }
  for (const auto& [name, value] : node.entries) {
    Each each;
    each.name = name.text;
    if (value.is_scalar()) {
      each.row = reader.text_template(value, "each");
    } else {
      reader.entries(value, "each." + name.text, each_keys(), each);
    }
    if (!value.find("over")) each.over = {reader.axis(name)};
    text.each.push_back(std::move(each));
  }
}

const Keys<Group>& group_keys() {
  static const Keys<Group> keys = {
      {"by", "Axes whose rows belong together.", &Group::by},
      {"before", "Before the rows of a group.", shape::template_of("group"), &Group::before},
      {"between", "Between two groups.", shape::template_of("group"), &Group::between},
      {"after", "After the rows of a group.", shape::template_of("group"), &Group::after}};
  return keys;
}

void read_group(Reader& reader, const Node& node, TextSpec& text) {
  text.group.emplace();
  reader.entries(node, "group", group_keys(), *text.group);
  if (!node.find("by")) reader.complain(node, "a group needs `by`: the axes it groups rows by");
}

void read_row_when(Reader& reader, const Node& node, TextSpec& text) {
  for (const auto& [outcome, row] : node.entries) {
    for (const Outcome which : reader.outcomes(outcome)) {
      text.row_when[which] = reader.text_template(row, "row_when");
    }
  }
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
    for (const auto* part : {&text.group->before, &text.group->between, &text.group->after}) {
      if (*part) names.rows_template(**part);
    }
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

const Keys<TableSpec>& table_keys() {
  static const Keys<TableSpec> keys =
      within(&TableSpec::grid, grid_keys()) +
      repeated<TableSpec>("A table for each value of these axes.") +
      Keys<TableSpec>{{"index", "A first column that counts rows.", &TableSpec::index},
                      {"summary", "Lines below, {mean(column)}.", shape::one_or_list(shape::text()),
                       [](Reader& reader, const Node& node, TableSpec& table) {
                         for (const Node& item : node.one_or_more()) {
                           table.summary.push_back(reader.text_template(item, "summary"));
                         }
                       }}};
  return keys;
}

TableSpec read_table(Reader& reader, const Node& node) {
  TableSpec table;
  if (!reader.entries(node, "table", table_keys(), table)) return table;
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

const Keys<TextSpec>& text_keys() {
  const auto line = [] { return shape::template_of("text"); };
  static const Keys<TextSpec> keys =
      within(&TextSpec::grid, grid_keys()) +
      Keys<TextSpec>{{"before", "Before the block.", line(), &TextSpec::before},
                     {"header", "Above the rows.", line(), &TextSpec::header},
                     {"row", "Template of one row.", line(), &TextSpec::row},
                     {"between", "Between two rows.", line(), &TextSpec::between},
                     {"after", "After the rows.", line(), &TextSpec::after},
                     {"row_when", "Another template for rows of an outcome.",
                      shape::by_name(shape::text()), read_row_when},
                     {"each", "Lines repeated over an axis, {each.NAME} in the row.",
                      shape::by_name(shape::text_or(yaml::object_schema(each_keys()))), read_each},
                     {"group", "Lines around rows that share these axes.",
                      yaml::object_schema(group_keys()), read_group}} +
      repeated<TextSpec>("A block for each value of these axes.");
  return keys;
}

TextSpec read_text(Reader& reader, const Node& node) {
  TextSpec text;
  if (!reader.entries(node, "text", text_keys(), text)) return text;
  if (!text.row) reader.complain(node, "a text block needs `row`: the template of one row");
  check_text_names(reader, text, node);
  text.grid.varying_rows = text.grid.keys.empty();
  check_title(reader, text.title, text.for_each);
  return text;
}

}  // namespace assay::report
