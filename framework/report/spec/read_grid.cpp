#include "report/spec/read_grid.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/spec/read_columns.h"
#include "report/spec/shapes.h"
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

const std::string* axis_of(const Column& column) {
  const auto* content = std::get_if<AxisContent>(&column.content);
  return content ? &content->axis : nullptr;
}

bool shows_axis(const std::vector<Column>& columns, const std::string& axis) {
  return std::ranges::any_of(
      columns, [&](const Column& column) { return axis_of(column) && *axis_of(column) == axis; });
}

void read_rows(Reader& reader, const Node& node, GridSpec& grid) {
  std::vector<Column> columns;
  for (const Node& item : node.one_or_more()) {
    auto column = read_row_axis(reader, item);
    if (!column) continue;
    add_key(grid, *axis_of(*column));
    if (!shows_axis(grid.columns, *axis_of(*column))) columns.push_back(std::move(*column));
  }
  grid.columns.insert(grid.columns.begin(), columns.begin(), columns.end());
}

void read_columns(Reader& reader, const Node& node, GridSpec& grid) {
  if (!node.is_mapping()) {
    reader.complain(node, "columns must be a mapping from a name to what it shows");
    return;
  }
  std::vector<Column> columns;
  for (const auto& [name, value] : node.entries) read_column(reader, name.text, value, columns);
  // A column that shows an axis of `rows` stands for its row there.
  std::erase_if(grid.columns, [&](const Column& row) {
    return axis_of(row) && shows_axis(columns, *axis_of(row));
  });
  for (const Column& column : columns) {
    if (const std::string* axis = axis_of(column)) add_key(grid, *axis);
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

const Keys<Note>& note_keys() {
  static const Keys<Note> keys = {
      {"each", "Template of what is said of a row.", &Note::each},
      {"separator", "Between two rows.", &Note::separator},
      {"last", "Between the last two rows; the separator where left out.", &Note::last},
      {"text", "The sentence, with {rows}, {count}.", &Note::text}};
  return keys;
}

void read_note(Reader& reader, const Node& node, GridSpec& grid) {
  Note note;
  if (node.is_mapping()) {
    reader.entries(node, "note", note_keys(), note);
  } else {
    note.each = reader.text_template(node, "note");
  }
  grid.note = std::move(note);
}

}  // namespace

const Keys<GridSpec>& grid_keys() {
  using shape::one_or_list;
  using shape::text;
  static const Keys<GridSpec> keys = {
      {"rows", "Axes that tell rows apart.", one_or_list(shape::text_or(shape::refer("row"))),
       read_rows},
      {"columns", "What each column shows, by its name.", shape::by_name(shape::refer("column")),
       read_columns},
      {"pivot", "A column for each combination.", one_or_list(shape::refer("pivot")),
       [](Reader& reader, const Node& node, GridSpec& grid) {
         for (const Node& item : node.one_or_more()) {
           grid.pivots.push_back(read_pivot(reader, item));
         }
       }},
      {"where", "Which results: values by axis, or conditions.", &GridSpec::where},
      {"sort", "Columns and axes; -name downwards.", one_or_list(text()), read_sort},
      {"omit", "Outcomes whose rows are left out.", &GridSpec::omit},
      {"note", "Names the omitted rows below.", shape::text_or(yaml::object_schema(note_keys())),
       read_note},
      {"keep", "Condition over columns.", &GridSpec::keep},
      {"limit", "So many rows at most.", &GridSpec::limit},
      {"cells", "What is shown for cells that are no numbers.", shape::cells(), &GridSpec::cells},
      {"reasons", "Why cells are no numbers, below.", &GridSpec::reasons},
      {"formulas", "How rates are derived, below.", &GridSpec::formulas}};
  return keys;
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
    if (grid_.note->text) rows_template(*grid_.note->text, {"rows", "count"});
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

std::vector<std::string> NameCheck::column_names() const {
  std::vector<std::string> names;
  for (const Column& column : grid_.columns) {
    if (column.name.find('#') == std::string::npos) names.push_back(column.name);
  }
  return names;
}

void NameCheck::name(const std::string& name, const std::vector<std::string>& extra,
                     const SourceLocation& at) {
  const auto is_column = [&](const Column& column) { return column.name == name; };
  if (std::ranges::any_of(grid_.columns, is_column)) return;
  const auto& axes = reader_.known().axes;
  if (reader_.known().has_axis(name)) {
    add_key(grid_, name);
    return;
  }
  if (std::count(extra.begin(), extra.end(), name) || pivoted(name)) return;
  std::vector<std::string> known = column_names();
  for (const auto* more : {&extra, &axes}) {
    std::ranges::copy_if(*more, std::back_inserter(known),
                         [&](const std::string& one) { return !std::ranges::count(known, one); });
  }
  reader_.complain(at, fmt::format("column '{}' does not exist", name), known_names(name, known));
}

void NameCheck::column_name(const std::string& wanted, const SourceLocation& at) {
  const std::vector<std::string> known = column_names();
  if (std::ranges::count(known, wanted) || pivoted(wanted)) return;
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
    if (!unit.empty() && !reader_.known().has_unit(unit)) return;  // said already
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
