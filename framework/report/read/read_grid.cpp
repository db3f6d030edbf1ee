#include "report/read/read_grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "report/read/read_columns.h"
#include "report/read/shapes.h"
#include "report/spec/unit_check.h"

namespace assay::report {
namespace {

using yaml::Node;

// "": a plain number, or an unknown metric.
std::string base_unit(Reader& reader, const Measure& measure) {
  if (measure.rate) return measure.rate->share_of.empty() ? measure.rate->unit : "";
  const MetricInfo* metric = reader.known().metric(measure.metric);
  return metric ? metric->unit : "";
}

const std::string* axis_of(const Column& column) {
  const auto* content = std::get_if<AxisContent>(&column.content);
  return content ? &content->axis : nullptr;
}

void read_rows(Reader& reader, const Node& node, GridSpec& grid) {
  std::vector<Column> columns;
  for (const Node& item : node.one_or_more()) {
    auto column = read_row_axis(reader, item);
    if (!column) continue;
    grid.add_key(*axis_of(*column));
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
  // A column replaces the entry of `rows` for the same axis.
  std::erase_if(grid.columns, [&](const Column& row) {
    return axis_of(row) && shows_axis(columns, *axis_of(row));
  });
  for (const Column& column : columns) {
    if (const std::string* axis = axis_of(column)) grid.add_key(*axis);
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
      {"each", "Template of one row's part.", &Note::each},
      {"separator", "Between two rows.", &Note::separator},
      {"last", "Between the last two rows; by default the separator.", &Note::last},
      {"text", "The sentence around them, with {rows} and {count}.", &Note::text}};
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

bool shows_axis(const std::vector<Column>& columns, const std::string& axis) {
  return std::ranges::any_of(
      columns, [&](const Column& column) { return axis_of(column) && *axis_of(column) == axis; });
}

const Keys<GridSpec>& grid_keys() {
  using shape::one_or_list;
  using shape::text;
  static const Keys<GridSpec> keys = {
      {"rows", "Axes with a row per combination; by default those that vary.",
       one_or_list(shape::text_or(shape::refer("row"))), read_rows},
      {"columns", "Columns by name.", shape::by_name(shape::refer("column")), read_columns},
      {"pivot", "A figure spread into a column per combination of axes.",
       shape::list_of_values(yaml::Shape{shape::refer("pivot"), read_pivot}), &GridSpec::pivots},
      {"where", "Selects results: values by axis, or conditions.", &GridSpec::where},
      {"sort", "Columns and axes to sort by; `-name` descends.", one_or_list(text()), read_sort},
      {"omit", "Outcomes whose rows are omitted.", &GridSpec::omit},
      {"note", "A sentence below about the omitted rows.",
       shape::text_or(yaml::object_schema(note_keys())), read_note},
      {"keep", "A condition over columns that rows must meet.", &GridSpec::keep},
      {"limit", "Maximum number of rows.", &GridSpec::limit},
      {"cells", "Texts of cells without a number.", shape::cells(), &GridSpec::cells},
      {"stat", "What its times that name no `stat` are; by default as in the rest of the report.",
       shape::centre(), &GridSpec::centre},
      {"reasons", "`false` omits the lines below that explain cells without a number.",
       &GridSpec::reasons},
      {"formulas", "`false` omits the lines below that show how rates are derived.",
       &GridSpec::formulas}};
  return keys;
}

void NameCheck::columns() {
  for (const Column& column : std::vector<Column>(grid_.columns)) {
    if (const auto* content = std::get_if<ExpressionContent>(&column.content)) {
      expression(content->expression, column.where, false);
    } else if (const auto* text = std::get_if<TemplateContent>(&column.content)) {
      for (const std::string& field : text->text.names()) {
        name(field, {"reason", "outcome"}, text->text.where);
        require_unit(field);
      }
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
  // Results decide a pivot's columns; their names follow its pattern.
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

std::string NameCheck::words_in_column(const std::string& name) const {
  for (const Column& column : grid_.columns) {
    const auto* measure = std::get_if<Measure>(&column.content);
    if (measure == nullptr || column.name != name || measure->rate) continue;
    if (reader_.known().is_text(measure->metric)) return measure->metric;
  }
  return {};
}

void NameCheck::require_unit(const std::string& name) {
  const auto require = [&](const Column& column) {
    const auto* measure = std::get_if<Measure>(&column.content);
    const std::string shown = shown_name(column.name);
    if (measure == nullptr || !measure->scaled || !without_unit_.insert(shown).second) return;
    const std::string what = measure->rate ? measure->rate->count + " / time" : measure->metric;
    complain_of_no_unit(reader_, column.where, shown, what, base_unit(reader_, *measure));
  };
  for (const Column& column : grid_.columns) {
    if (shown_name(column.name) == name) require(column);
  }
  if (is_column(name) || !pivoted(name)) return;
  for (const Pivot& pivot : grid_.pivots) require(pivot.column);
}

bool NameCheck::is_column(const std::string& name) const {
  return std::ranges::any_of(grid_.columns,
                             [&](const Column& column) { return column.name == name; });
}

void NameCheck::name(const std::string& name, const std::vector<std::string>& extra,
                     const SourceLocation& at) {
  if (is_column(name)) return;
  const auto& axes = reader_.known().axes;
  if (reader_.known().has_axis(name)) {
    grid_.add_key(name);
    return;
  }
  if (std::count(extra.begin(), extra.end(), name) || pivoted(name)) return;
  std::vector<std::string> known = column_names();
  for (const auto* more : {&extra, &axes}) {
    std::ranges::copy_if(*more, std::back_inserter(known), [&](const std::string& other) {
      return !std::ranges::count(known, other);
    });
  }
  reader_.complain_unknown(at, "column", name, known);
}

void NameCheck::column_name(const std::string& wanted, const SourceLocation& at) {
  const std::vector<std::string> known = column_names();
  if (std::ranges::count(known, wanted) || pivoted(wanted)) return;
  reader_.complain_unknown(at, "column", wanted, known);
}

// A bare word beside a column or an axis that names neither is text.
bool NameCheck::is_word(const Expression& expression, const std::string& name) const {
  const auto exists = [&](const std::string& wanted) {
    return !wanted.empty() &&
           (reader_.known().has_axis(wanted) || pivoted(wanted) || is_column(wanted));
  };
  if (exists(name)) return false;
  return std::all_of(
      expression.uses().begin(), expression.uses().end(),
      [&](const Expression::Use& use) { return use.name != name || exists(use.beside); });
}

void NameCheck::expression(const Expression& expression, const SourceLocation& at, bool comparing) {
  if (comparing) reader_.check_counts(at, expression);
  std::vector<std::string> units;
  const std::set<std::string> calculated = expression.calculated();
  for (const std::string& used : expression.names()) {
    std::string unit;
    const std::string words = words_in_column(used);
    if (!words.empty() && calculated.contains(used)) {
      reader_.complain(at,
                       fmt::format("'{}' shows {}, which holds words: it cannot be calculated with",
                                   shown_name(used), words),
                       fmt::format("compare it: {} == 'word'", shown_name(used)));
    }
    for (const Column& column : grid_.columns) {
      if (column.name != used) continue;
      if (const auto* measure = std::get_if<Measure>(&column.content)) {
        const bool ratio = measure->relative_to || !has_unit(measure->statistic);
        unit = ratio ? "" : measure->unit.empty() ? base_unit(reader_, *measure) : measure->unit;
      } else if (const auto* content = std::get_if<ExpressionContent>(&column.content)) {
        unit = content->unit;
      } else if (const auto* axis = std::get_if<AxisContent>(&column.content)) {
        unit = axis->unit;
      }
    }
    if (!is_column(used) && !(comparing && is_word(expression, used))) name(used, {}, at);
    require_unit(used);
    if (!unit.empty() && !reader_.known().has_unit(unit)) return;  // reported already
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
  for (const std::string& field : text.names()) {
    name(field, allowed, text.where);
    require_unit(field);
  }
  if (!text.function_names().empty()) {
    reader_.complain(text.where,
                     fmt::format("a row has no {{mean(…)}} of '{}': it needs several rows",
                                 text.function_names().front()),
                     "use it in before, after, summary or a group");
  }
}

void NameCheck::rows_template(const Template& text, const std::vector<std::string>& extra) {
  std::vector<std::string> allowed = extra;
  allowed.insert(allowed.end(), {"reason", "outcome"});
  for (const std::string& field : text.names()) {
    name(field, allowed, text.where);
    require_unit(field);
  }
  for (const std::string& field : text.function_names()) {
    column_name(field, text.where);
    require_unit(field);
    if (const std::string words = words_in_column(field); !words.empty()) {
      reader_.complain(
          text.where,
          fmt::format("'{}' shows {}, which holds words: they have no mean or sum", field, words));
    }
  }
}

}  // namespace assay::report
