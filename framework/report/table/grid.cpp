#include "report/table/grid.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/spec/units.h"
#include "report/table/pivot.h"
#include "report/table/scaled_columns.h"

namespace assay::report {
namespace {

class Builder {
 public:
  Builder(const Records& records, const GridSpec& spec) : records_(records), spec_(spec) {}

  Result<Grid> run(const Filter& restricted, const std::vector<std::string>& more_keys) {
    grid_.keys = spec_.keys;
    grid_.keys.insert(grid_.keys.end(), more_keys.begin(), more_keys.end());
    for (const std::string& name : grid_.keys)
      grid_.axes.push_back(records_.axis(name).value_or(0));

    auto candidates = select_both(records_, spec_.where, restricted);
    if (!candidates) return tl::unexpected(candidates.error());

    auto columns = spread_pivots(records_, *candidates, spec_);
    if (!columns) return tl::unexpected(columns.error());
    grid_.columns = std::move(*columns);
    if (auto done = index_measures(*candidates); !done) return tl::unexpected(done.error());
    collect_keys();
    for (GridRow& row : grid_.rows) {
      if (auto done = fill(row); !done) return tl::unexpected(done.error());
    }
    scale_columns(grid_);
    for (GridRow& row : grid_.rows) {
      if (auto done = derive(row); !done) return tl::unexpected(done.error());
    }
    if (auto done = choose_rows(); !done) return tl::unexpected(done.error());
    name_scaled_columns(grid_);
    return std::move(grid_);
  }

 private:
  Result<void> index_measures(const RecordIds& candidates) {
    indices_.resize(grid_.columns.size());
    for (std::size_t i = 0; i < grid_.columns.size(); ++i) {
      const Column& column = grid_.columns[i];
      const auto* measure = std::get_if<Measure>(&column.content);
      if (!measure) continue;
      auto index = MeasureIndex::build(records_, candidates, *measure, grid_.axes, column.name,
                                       column.where);
      if (!index) return tl::unexpected(index.error());
      indices_[i] = std::move(*index);
    }
    return {};
  }

  // Orders rows by their first result in any column.
  void collect_keys() {
    std::unordered_map<Key, std::uint32_t, KeyHash> first;
    const auto note = [&](const auto& found) {
      for (const auto& [key, ids] : found) {
        const auto [at, added] = first.try_emplace(key, ids.front());
        if (!added) at->second = std::min(at->second, ids.front());
      }
    };
    for (const auto& index : indices_) {
      if (!index) continue;
      note(index->found());
      note(index->failed());
    }
    std::vector<std::pair<std::uint32_t, Key>> order;
    for (const auto& [key, id] : first) order.emplace_back(id, key);
    std::sort(order.begin(), order.end());
    for (auto& [id, key] : order) {
      GridRow row;
      row.key = std::move(key);
      grid_.rows.push_back(std::move(row));
    }
  }

  Result<void> fill(GridRow& row) {
    row.cells.resize(grid_.columns.size());
    for (std::size_t i = 0; i < grid_.columns.size(); ++i) {
      const Column& column = grid_.columns[i];
      if (const auto* axis = std::get_if<AxisContent>(&column.content)) {
        row.cells[i] = axis_cell(row, *axis);
      } else if (indices_[i]) {
        auto cell = indices_[i]->at(row.key);
        if (!cell) return tl::unexpected(cell.error());
        row.cells[i] = std::move(*cell);
        if (row.outcome == Outcome::ok && row.cells[i].kind == Cell::Kind::outcome) {
          row.outcome = row.cells[i].outcome;
          row.reason = row.cells[i].reason;
        }
      }
    }
    return {};
  }

  Result<void> derive(GridRow& row) {
    for (std::size_t i = 0; i < grid_.columns.size(); ++i) {
      auto cell = derived(row, grid_.columns[i]);
      if (!cell) return tl::unexpected(cell.error());
      if (*cell) row.cells[i] = std::move(**cell);
    }
    return {};
  }

  Cell axis_cell(const GridRow& row, const AxisContent& content) const {
    const auto at = std::find(grid_.keys.begin(), grid_.keys.end(), content.axis);
    if (at == grid_.keys.end()) return Cell();
    const std::size_t i = static_cast<std::size_t>(at - grid_.keys.begin());
    Cell cell = Cell::of_value(records_.axes()[grid_.axes[i]].values[row.key[i]]);
    if (cell.is_number() && !content.unit.empty()) {
      cell.number = convert(cell.number, unit_of_data(content.unit).base, content.unit);
      cell.integral = cell.integral &&
                      cell.number == static_cast<double>(static_cast<std::int64_t>(cell.number));
      cell.unit = content.unit;
    }
    return cell;
  }

  // nullopt for columns that are not derived.
  Result<std::optional<Cell>> derived(const GridRow& row, const Column& column) const {
    if (const auto* expression = std::get_if<ExpressionContent>(&column.content)) {
      return evaluate(row, *expression, column);
    }
    if (const auto* parts = std::get_if<JoinContent>(&column.content)) return joined(row, *parts);
    if (const auto* text = std::get_if<TemplateContent>(&column.content)) {
      Trust trust;
      Cell cell = Cell::of_text(text->text.render([&](const Template::Field& field) {
        add_trust(row, field.name, trust);
        return field_text(records_, grid_, row, field, spec_.cells);
      }));
      set_trust(std::move(trust), cell);
      return cell;
    }
    if (std::holds_alternative<OutcomeContent>(column.content)) {
      Cell cell = row.outcome == Outcome::ok ? Cell::of_text("ok")
                                             : Cell::of_outcome(row.outcome, row.reason);
      if (const auto at = column.labels.find(std::string(to_text(row.outcome)));
          at != column.labels.end()) {
        cell = Cell::of_text(at->second);
      }
      return cell;
    }
    return std::optional<Cell>();
  }

  // What a computed cell has from those it is computed of.
  struct Trust {
    bool timed = false;
    std::vector<store::Mark> marks;
  };

  void add_trust(const GridRow& row, const std::string& name, Trust& trust) const {
    const auto column = grid_.column(name);
    if (!column) return;
    trust.timed = trust.timed || row.cells[*column].timed;
    add_marks(row.cells[*column].marks, trust.marks);
  }

  static void set_trust(Trust trust, Cell& cell) {
    cell.timed = trust.timed;
    cell.marks = std::move(trust.marks);
  }

  bool is_margin(const std::string& name) const {
    const auto column = grid_.column(name);
    if (!column) return false;
    const auto* measure = std::get_if<Measure>(&grid_.columns[*column].content);
    return measure != nullptr && measure->statistic == Statistic::margin;
  }

  Value named_value(const GridRow& row, const std::string& name) const {
    if (const auto column = grid_.column(name)) return to_value(row.cells[*column]);
    const auto at = std::find(grid_.keys.begin(), grid_.keys.end(), name);
    if (at == grid_.keys.end()) return {};
    const std::size_t i = static_cast<std::size_t>(at - grid_.keys.begin());
    return records_.axes()[grid_.axes[i]].values[row.key[i]];
  }

  // "" if a formula can use the cell.
  std::string why_no_value(const GridRow& row, const std::string& name) const {
    const auto column = grid_.column(name);
    if (!column) return {};
    const Cell& cell = row.cells[*column];
    switch (cell.kind) {
      case Cell::Kind::missing:
        return fmt::format("there is no {}", name);
      case Cell::Kind::undefined:
        return fmt::format("{} is not defined", name);
      case Cell::Kind::outcome:
        return fmt::format("{} is {}", name, to_text(cell.outcome));
      default:
        return {};
    }
  }

  Result<std::optional<Cell>> evaluate(const GridRow& row, const ExpressionContent& content,
                                       const Column& column) const {
    Trust trust;
    std::string lacking;
    const auto value = content.expression.evaluate([&](const std::string& name) {
      add_trust(row, name, trust);
      if (lacking.empty()) lacking = why_no_value(row, name);
      return named_value(row, name);
    });
    if (!value) {
      Error error = value.error();
      for (Diagnostic& diagnostic : error.diagnostics) diagnostic.where = column.where;
      return tl::unexpected(std::move(error));
    }
    Cell cell = Cell::of_value(*value);
    cell.text = cell.is_number() ? "" : cell.text;
    cell.integral = false;
    cell.unit = content.unit;
    if (cell.kind == Cell::Kind::missing) {
      cell = Cell::undefined(lacking.empty() ? "its formula has no value here" : lacking);
    }
    if (cell.is_number()) set_trust(std::move(trust), cell);
    return cell;
  }

  Cell joined(const GridRow& row, const JoinContent& content) const {
    std::vector<std::string> texts;
    const Cell* outcome = nullptr;
    Cell missing;
    bool all_same = true, any_number = false;
    for (const std::string& name : content.parts) {
      Template::Field field;
      field.name = name;
      texts.push_back(field_text(records_, grid_, row, field, spec_.cells));
      all_same = all_same && texts.back() == texts.front();
      const auto column = grid_.column(name);
      if (!column) continue;
      const Cell& cell = row.cells[*column];
      if (missing.reason.empty()) missing.reason = cell.reason;
      any_number = any_number || cell.kind == Cell::Kind::number || cell.kind == Cell::Kind::text;
      if (cell.kind == Cell::Kind::outcome && !outcome) outcome = &cell;
    }
    if (all_same && !any_number) return outcome ? *outcome : missing;
    std::string text;
    Trust trust;
    for (const std::string& name : content.parts) add_trust(row, name, trust);
    if (std::ranges::any_of(content.parts, [&](const auto& name) { return is_margin(name); })) {
      std::erase_if(trust.marks, [](const auto& mark) { return mark.mark == wide_mark; });
    }
    for (std::size_t i = 0; i < texts.size(); ++i) {
      if (i > 0 && content.drops_undefined && texts[i].empty()) continue;
      text += (i > 0 ? content.separator : "") + texts[i];
    }
    Cell cell = Cell::of_text(text);
    set_trust(std::move(trust), cell);
    return cell;
  }

  Result<void> choose_rows() {
    std::vector<GridRow> kept;
    for (GridRow& row : grid_.rows) {
      if (std::count(spec_.omit.begin(), spec_.omit.end(), row.outcome)) {
        grid_.omitted.push_back(std::move(row));
        continue;
      }
      if (spec_.keep) {
        const auto value =
            spec_.keep->evaluate([&](const std::string& name) { return named_value(row, name); });
        if (!value) return tl::unexpected(value.error());
        const auto* truth = std::get_if<bool>(&*value);
        if (!truth || !*truth) continue;
      }
      kept.push_back(std::move(row));
    }
    grid_.rows = std::move(kept);
    sort_rows(grid_.rows);
    sort_rows(grid_.omitted);
    if (spec_.limit > 0 && grid_.rows.size() > spec_.limit) grid_.rows.resize(spec_.limit);
    return {};
  }

  void sort_rows(std::vector<GridRow>& rows) const {
    if (spec_.sort.empty()) return;
    std::stable_sort(rows.begin(), rows.end(), [&](const GridRow& a, const GridRow& b) {
      for (const SortKey& key : spec_.sort) {
        const int order = compare(a, b, key.name);
        if (order != 0) return key.descending ? order > 0 : order < 0;
      }
      return false;
    });
  }

  // Numeric axes compare by size, others by planned order; columns by number, then by word, other
  // cells last.
  int compare(const GridRow& a, const GridRow& b, const std::string& name) const {
    const auto three_way = [](auto x, auto y) { return x < y ? -1 : y < x ? 1 : 0; };
    const auto key = std::find(grid_.keys.begin(), grid_.keys.end(), name);
    if (key != grid_.keys.end()) {
      const std::size_t i = static_cast<std::size_t>(key - grid_.keys.begin());
      const auto& values = records_.axes()[grid_.axes[i]].values;
      const Cell x = Cell::of_value(values[a.key[i]]), y = Cell::of_value(values[b.key[i]]);
      if (x.is_number() && y.is_number()) return three_way(x.number, y.number);
      return three_way(a.key[i], b.key[i]);
    }
    const auto column = grid_.column(name);
    if (!column) return 0;
    const Cell &x = a.cells[*column], &y = b.cells[*column];
    if (x.is_number() && y.is_number()) return three_way(x.number, y.number);
    const auto place = [](const Cell& cell) {
      return cell.is_number() ? 0 : cell.kind == Cell::Kind::text ? 1 : 2;
    };
    if (place(x) != place(y)) return three_way(place(x), place(y));
    return three_way(x.text, y.text);
  }

  const Records& records_;
  const GridSpec& spec_;
  Grid grid_;
  std::vector<std::optional<MeasureIndex>> indices_;
};

}  // namespace

std::optional<std::size_t> Grid::column(std::string_view name) const {
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].name == name) return i;
  }
  return std::nullopt;
}

Result<Grid> build_grid(const Records& records, const GridSpec& spec, const Filter& restricted,
                        const std::vector<std::string>& more_keys) {
  return Builder(records, spec).run(restricted, more_keys);
}

}  // namespace assay::report
