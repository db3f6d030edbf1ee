#include "report/read/read_blocks.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/read/read_columns.h"
#include "report/read/read_grid.h"
#include "report/read/shapes.h"

namespace assay::report {
namespace {

using yaml::Node;

const Keys<Each>& each_keys() {
  static const Keys<Each> keys = {
      {"over", "Axes it repeats over; by default its own name.", &Each::over},
      {"row", "Template of one line.", &Each::row},
      {"separator", "Between two lines.", &Each::separator}};
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
      {"by", "Axes whose values form a group.", &Group::by},
      {"before", "Before the rows of a group.", shape::template_of("group"), &Group::before},
      {"between", "Between two groups.", shape::template_of("group"), &Group::between},
      {"after", "After the rows of a group.", shape::template_of("group"), &Group::after}};
  return keys;
}

void read_group(Reader& reader, const Node& node, TextSpec& text) {
  text.group.emplace();
  reader.entries(node, "group", group_keys(), *text.group);
  if (!node.find("by")) reader.complain(node, "a group needs `by`: the axes that form it");
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
    for (const std::string& axis : text.group->by) text.grid.add_key(axis);
    for (const auto* part : {&text.group->before, &text.group->between, &text.group->after}) {
      if (*part) names.rows_template(**part);
    }
  }
  // Axes of `each` alone are no keys of the block.
  for (const Each& each : text.each) {
    for (const std::string& axis : each.over) {
      if (!shows_axis(text.grid.columns, axis)) std::erase(text.grid.keys, axis);
    }
  }
}

}  // namespace

namespace {

std::vector<std::string> form_names() { return {"latex", "csv"}; }

void read_forms(Reader& reader, const Node& node, TableSpec& table) {
  for (const Node& item : node.one_or_more()) {
    const std::string word = reader.choice(item, "format of a table", form_names());
    if (!word.empty()) {
      table.forms.push_back(word == "latex" ? TableForm::latex : TableForm::csv);
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
      repeated<TableSpec>("Axes with a table per combination of values.") +
      Keys<TableSpec>{
          {"format", "Files with the table beside the report: `latex` (for booktabs), `csv`.",
           shape::one_or_list(shape::words(form_names())), read_forms},
          {"index", "`true` adds a first column that counts rows.", &TableSpec::index},
          {"summary", "Lines below with functions over rows, such as {mean(column)}.",
           shape::list_of_values(shape::template_of("summary")), &TableSpec::summary}};
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
                     {"row_when", "Templates for rows with an outcome.",
                      shape::by_name(shape::text()), read_row_when},
                     {"each", "Lines repeated over axes; {each.NAME} inserts them into the row.",
                      shape::by_name(shape::text_or(yaml::object_schema(each_keys()))), read_each},
                     {"group", "Lines around rows with the same values on some axes.",
                      yaml::object_schema(group_keys()), read_group}} +
      repeated<TextSpec>("Axes with a block per combination of values.");
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

const Keys<ArtefactsSpec>& artefacts_keys() {
  static const Keys<ArtefactsSpec> keys =
      Keys<ArtefactsSpec>{
          {"media_type", "Only files of these types, such as `application/json` or `image/*`.",
           shape::one_or_list(shape::text()),
           [](Reader& reader, const Node& node, ArtefactsSpec& artefacts) {
             artefacts.media_types = reader.texts(node, "media_type");
           }},
          {"where", "Selects results: values by axis, or conditions.", &ArtefactsSpec::where}} +
      repeated<ArtefactsSpec>("Axes with a table per combination of values.");
  return keys;
}

ArtefactsSpec read_artefacts(Reader& reader, const Node& node) {
  ArtefactsSpec artefacts;
  if (node.is_null()) return artefacts;
  if (!reader.entries(node, "artefacts", artefacts_keys(), artefacts)) return artefacts;
  check_title(reader, artefacts.title, artefacts.for_each);
  return artefacts;
}

}  // namespace assay::report
