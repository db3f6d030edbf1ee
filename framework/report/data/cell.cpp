#include "report/data/cell.h"

#include <algorithm>

#include "base/text.h"
#include "report/spec/numbers.h"

namespace assay::report {
namespace {

constexpr int most_digits = 15;  // of a figure beside its ±, whose decimals it has

// The default, made from `word` or the key, where neither column nor block has a text.
std::string special_text(const std::string& key, const CellTexts& own, const CellTexts& block,
                         const std::string& word = {}) {
  if (const auto at = own.find(key); at != own.end()) return at->second;
  if (const auto at = block.find(key); at != block.end()) return at->second;
  return default_cell_text(word.empty() ? key : word);
}

const std::string* label_of(const Cell& cell, const Column& column) {
  if (cell.text.empty() && cell.kind != Cell::Kind::text) return nullptr;
  if (const auto at = column.labels.find(cell.text); at != column.labels.end()) return &at->second;
  if (cell.kind == Cell::Kind::number) {
    const Value value =
        cell.integral ? Value(static_cast<std::int64_t>(cell.number)) : Value(cell.number);
    for (const auto& [name, label] : column.labels) {
      if (names_value(name, value)) return &label;
    }
  }
  return column.other_label ? &*column.other_label : nullptr;
}

std::string list_text(const Cell& cell, const Column& column) {
  std::vector<std::string> items;
  for (const double value : cell.list)
    items.push_back(apply(column.format, value, false, cell.unit, true));
  return "[" + join(items, ", ") + "]";
}

}  // namespace

void add_marks(const std::vector<store::Mark>& more, std::vector<store::Mark>& marks) {
  for (const store::Mark& mark : more) {
    if (std::find(marks.begin(), marks.end(), mark) == marks.end()) marks.push_back(mark);
  }
}

Cell Cell::of(double number, std::string unit) {
  Cell cell;
  cell.kind = Kind::number;
  cell.number = number;
  cell.unit = std::move(unit);
  return cell;
}

Cell Cell::of_text(std::string text) {
  Cell cell;
  cell.kind = Kind::text;
  cell.text = std::move(text);
  return cell;
}

Cell Cell::of_outcome(Outcome outcome, std::string reason) {
  Cell cell;
  cell.kind = Kind::outcome;
  cell.outcome = outcome;
  cell.reason = std::move(reason);
  return cell;
}

Cell Cell::undefined(std::string reason) {
  Cell cell;
  cell.kind = Kind::undefined;
  cell.reason = std::move(reason);
  return cell;
}

Cell Cell::of_value(const Value& value) {
  Cell cell;
  if (const auto* whole = std::get_if<std::int64_t>(&value)) {
    cell = of(static_cast<double>(*whole));
    cell.integral = true;
  } else if (const auto* real = std::get_if<double>(&value)) {
    cell = of(*real);
  } else if (!std::holds_alternative<std::monostate>(value)) {
    cell.kind = Kind::text;
  }
  cell.text = to_text(value);
  return cell;
}

Value to_value(const Cell& cell) {
  if (cell.kind == Cell::Kind::text) return cell.text;
  if (cell.kind == Cell::Kind::number) return cell.number;
  return {};
}

std::string display(const Cell& cell, const Column& column, const CellTexts& block,
                    bool beside_text) {
  switch (cell.kind) {
    case Cell::Kind::missing:
      return special_text("missing", column.cells, block);
    case Cell::Kind::undefined:
      return special_text("undefined", column.cells, block);
    case Cell::Kind::outcome:
      return special_text(std::string(to_text(cell.outcome)), column.cells, block, cell.discarded);
    case Cell::Kind::list:
      return list_text(cell, column);
    case Cell::Kind::text:
    case Cell::Kind::number:
      break;
  }
  if (const std::string* label = label_of(cell, column)) return *label;
  if (cell.kind == Cell::Kind::text) return cell.text;
  if (column.format.kind == Format::Kind::automatic && !cell.integral) {
    if (std::holds_alternative<AxisContent>(column.content)) return number_text(cell.number);
    return cell.is_uncertainty ? uncertainty_text(cell.number)
                               : figure_text(cell.number, cell.uncertainty,
                                             column.shown ? digits_of_figure : most_digits);
  }
  return apply(column.format, cell.number, cell.integral, cell.unit, beside_text);
}

std::string display(const Cell& cell, const Column& column, const CellTexts& block,
                    const FieldSpec& spec, std::string_view sign) {
  if (cell.is_number() && spec.shapes_number && !label_of(cell, column)) {
    FieldSpec digits = spec;
    digits.width = 0;
    return sign.empty() ? format_number(cell.number, spec)
                        : pad(format_number(cell.number, digits) + std::string(sign), spec, '>');
  }
  return pad(display(cell, column, block, false) + std::string(sign), spec, '<');
}

std::string without_numbers(const std::string& reason) {
  std::string text;
  for (const char c : reason) {
    const bool digit = (c >= '0' && c <= '9') || c == '.';
    if (!digit)
      text += c;
    else if (text.empty() || text.back() != '#')
      text += '#';
  }
  return text;
}

}  // namespace assay::report
