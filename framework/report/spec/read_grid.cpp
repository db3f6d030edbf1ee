#include "report/spec/read_grid.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/spec/read_columns.h"
#include "report/spec/unit_check.h"

namespace assay::report {
namespace {

using yaml::Node;

// "" for plain numbers, and where the metric is not known.
std::string base_unit(Reader& reader, const Measure& measure) {
  if (measure.rate) return measure.rate->share_of.empty() ? measure.rate->unit : "";
  const MetricInfo* metric = reader.known().metric(measure.metric);
  return metric ? metric->unit : "";
}

void add_key(GridSpec& grid, const std::string& axis) {
  if (!std::count(grid.keys.begin(), grid.keys.end(), axis)) grid.keys.push_back(axis);
}

void read_rows(Reader& reader, const Node& node, GridSpec& grid) {
  std::vector<Column> columns;
  for (const Node& item : node.is_sequence() ? node.items : std::vector{node}) {
    if (auto column = read_row_axis(reader, item)) {
      add_key(grid, std::get<AxisContent>(column->content).axis);
      columns.push_back(std::move(*column));
    }
  }
  const auto spelled_out = [&](const Column& row) {
    return std::any_of(grid.columns.begin(), grid.columns.end(), [&](const Column& column) {
      const auto* axis = std::get_if<AxisContent>(&column.content);
      return axis && axis->axis == std::get<AxisContent>(row.content).axis;
    });
  };
  columns.erase(std::remove_if(columns.begin(), columns.end(), spelled_out), columns.end());
  grid.columns.insert(grid.columns.begin(), columns.begin(), columns.end());
}

void read_columns(Reader& reader, const Node& node, GridSpec& grid) {
  if (!node.is_mapping()) {
    reader.complain(node, "columns must be a mapping from a name to what it shows");
    return;
  }
  std::vector<Column> columns;
  for (const auto& [name, value] : node.entries) read_column(reader, name.text, value, columns);
  for (const Column& column : columns) {
    const auto* axis = std::get_if<AxisContent>(&column.content);
    if (!axis) continue;
    const auto is_row_of_it = [&](const Column& row) {
      const auto* content = std::get_if<AxisContent>(&row.content);
      return content && content->axis == axis->axis;
    };
    grid.columns.erase(std::remove_if(grid.columns.begin(), grid.columns.end(), is_row_of_it),
                       grid.columns.end());
    add_key(grid, axis->axis);
  }
  std::move(columns.begin(), columns.end(), std::back_inserter(grid.columns));
}

void read_sort(Reader& reader, const Node& node, GridSpec& grid) {
  for (std::string name : reader.texts(node, "sort")) {
    const bool descending = !name.empty() && name.front() == '-';
    if (descending) name.erase(0, 1);
    grid.sort.push_back({std::move(name), descending});
  }
}

void read_note(Reader& reader, const Node& node, GridSpec& grid) {
  Note note;
  if (node.is_mapping()) {
    reader.entries(
        node, "note",
        {{"each", [&](const Node& value) { note.each = reader.text_template(value, "each"); }},
         {"separator",
          [&](const Node& value) { note.separator = reader.text(value, "separator"); }},
         {"last", [&](const Node& value) { note.last = reader.text(value, "last"); }},
         {"text", [&](const Node& value) {
            note.text = reader.text_template(value, "text");
            note.has_text = true;
          }}});
  } else {
    note.each = reader.text_template(node, "note");
  }
  grid.note = std::move(note);
}

}  // namespace

std::vector<std::pair<std::string, Reader::Handler>> grid_handlers(Reader& reader, GridSpec& grid) {
  return {
      {"rows", [&](const Node& node) { read_rows(reader, node, grid); }},
      {"columns", [&](const Node& node) { read_columns(reader, node, grid); }},
      {"pivot",
       [&](const Node& node) {
         for (const Node& item : node.is_sequence() ? node.items : std::vector{node}) {
           grid.pivots.push_back(read_pivot(reader, item));
         }
       }},
      {"where", [&](const Node& node) { grid.where.add(reader.filter(node)); }},
      {"sort", [&](const Node& node) { read_sort(reader, node, grid); }},
      {"omit", [&](const Node& node) { grid.omit = reader.outcomes(node); }},
      {"note", [&](const Node& node) { read_note(reader, node, grid); }},
      {"keep", [&](const Node& node) { grid.keep = reader.expression(node, "keep"); }},
      {"limit", [&](const Node& node) { grid.limit = reader.count(node, "limit"); }},
      {"cells", [&](const Node& node) { grid.cells = reader.cells(node); }},
      {"reasons", [&](const Node& node) { grid.reasons = reader.boolean(node, "reasons"); }},
      {"formulas", [&](const Node& node) { grid.formulas = reader.boolean(node, "formulas"); }},
  };
}

void NameCheck::columns() {
  for (const Column& column : std::vector<Column>(grid_.columns)) {
    if (const auto* content = std::get_if<ExpressionContent>(&column.content)) {
      expression(content->expression, column.where, false);
    } else if (const auto* text = std::get_if<TemplateContent>(&column.content)) {
      for (const std::string& field : text->text.names())
        name(field, {"reason", "outcome"}, text->text.where);
    } else if (const auto* parts = std::get_if<JoinContent>(&column.content)) {
      for (const std::string& part : parts->parts) name(part, {}, column.where);
    }
  }
  if (grid_.keep) {
    const auto* node = at_.find("keep");
    expression(*grid_.keep, node ? node->where : at_.where, true);
  }
  for (const SortKey& key : grid_.sort) {
    const auto* node = at_.find("sort");
    name(key.name, {}, node ? node->where : at_.where);
  }
  if (grid_.note) {
    rows_template(grid_.note->each);
    rows_template(grid_.note->text, {"rows", "count"});
  }
}

bool NameCheck::pivoted(const std::string& name) const {
  // A pivot's columns are known only once there are results; their names follow its pattern.
  return std::any_of(grid_.pivots.begin(), grid_.pivots.end(), [&](const Pivot& pivot) {
    std::size_t at = 0;
    for (const Template::Part& part : pivot.name.parts()) {
      const std::size_t found = name.find(part.literal, at);
      if (found == std::string::npos ||
          (found > 0 && at == 0 && &part == &pivot.name.parts().front())) {
        return false;
      }
      at = found + part.literal.size();
    }
    return true;
  });
}

void NameCheck::name(const std::string& name, const std::vector<std::string>& extra,
                     const SourceLocation& at) {
  const auto is_column = [&](const Column& column) { return column.name == name; };
  if (std::any_of(grid_.columns.begin(), grid_.columns.end(), is_column)) return;
  const auto& axes = reader_.known().axes;
  if (reader_.known().has_axis(name)) {
    add_key(grid_, name);
    return;
  }
  if (std::count(extra.begin(), extra.end(), name) || pivoted(name)) return;
  std::vector<std::string> known;
  for (const Column& column : grid_.columns) {
    if (column.name.find('#') == std::string::npos) known.push_back(column.name);
  }
  for (const auto* more : {&extra, &axes}) {
    std::copy_if(
        more->begin(), more->end(), std::back_inserter(known),
        [&](const std::string& one) { return !std::count(known.begin(), known.end(), one); });
  }
  reader_.complain(at, fmt::format("column '{}' does not exist", name), known_names(name, known));
}

void NameCheck::column_name(const std::string& wanted, const SourceLocation& at) {
  std::vector<std::string> known;
  for (const Column& column : grid_.columns) {
    if (column.name.find('#') == std::string::npos) known.push_back(column.name);
  }
  if (std::count(known.begin(), known.end(), wanted) || pivoted(wanted)) return;
  reader_.complain(at, fmt::format("column '{}' does not exist", wanted),
                   known_names(wanted, known));
}

// A bare word that is compared with a column or an axis, and is neither, is text.
bool NameCheck::is_word(const Expression& expression, const std::string& name) const {
  const auto exists = [&](const std::string& wanted) {
    if (wanted.empty()) return false;
    return reader_.known().has_axis(wanted) || pivoted(wanted) ||
           std::any_of(grid_.columns.begin(), grid_.columns.end(),
                       [&](const Column& column) { return column.name == wanted; });
  };
  if (exists(name)) return false;
  return std::all_of(
      expression.uses().begin(), expression.uses().end(),
      [&](const Expression::Use& use) { return use.name != name || exists(use.beside); });
}

void NameCheck::expression(const Expression& expression, const SourceLocation& at, bool comparing) {
  std::vector<std::string> units;
  for (const std::string& used : expression.names()) {
    std::string unit;
    bool is_column = false;
    for (const Column& column : grid_.columns) {
      if (column.name != used) continue;
      is_column = true;
      if (const auto* measure = std::get_if<Measure>(&column.content)) {
        const bool ratio = measure->relative_to || !has_unit(measure->statistic);
        unit = ratio ? "" : measure->unit.empty() ? base_unit(reader_, *measure) : measure->unit;
      } else if (const auto* content = std::get_if<ExpressionContent>(&column.content)) {
        unit = content->unit;
      } else if (const auto* axis = std::get_if<AxisContent>(&column.content)) {
        unit = axis->unit;
      }
    }
    if (!is_column && !(comparing && is_word(expression, used))) name(used, {}, at);
    if (!unit.empty() && !unit_exists(reader_.known(), unit)) return;  // said already
    units.push_back(unit == "count" ? "" : unit);
  }
  const auto mixed =
      comparing ? mixed_comparison(expression, units) : mixed_units(expression, units);
  if (mixed) {
    reader_.complain(at, "this expression mixes " + *mixed, "give its columns one unit");
  }
}

void NameCheck::row_template(const Template& text, const std::vector<std::string>& extra) {
  std::vector<std::string> allowed = extra;
  allowed.insert(allowed.end(), {"reason", "outcome", "index"});
  for (const std::string& field : text.names()) name(field, allowed, text.where);
  if (!text.function_names().empty()) {
    reader_.complain(text.where,
                     fmt::format("a row has nothing to take {{mean(…)}} of '{}' over",
                                 text.function_names().front()),
                     "use it in before, after, summary or a group");
  }
}

void NameCheck::rows_template(const Template& text, const std::vector<std::string>& extra) {
  std::vector<std::string> allowed = extra;
  allowed.insert(allowed.end(), {"reason", "outcome"});
  for (const std::string& field : text.names()) name(field, allowed, text.where);
  for (const std::string& field : text.function_names()) column_name(field, text.where);
}

}  // namespace assay::report
