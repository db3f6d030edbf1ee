#include "report/table/pivot.h"

#include <numeric>
#include <set>

#include "report/data/cell.h"

namespace assay::report {
namespace {

RecordIds all_ids(const Records& records) {
  RecordIds all(records.size());
  std::iota(all.begin(), all.end(), 0u);
  return all;
}

// The position of a value in the condition on its axis, which thus orders columns; else its code.
std::uint32_t place(const Filter& where, const std::string& axis, const Value& value,
                    std::uint32_t code) {
  const Condition* condition = where.on(axis);
  if (!condition || condition->values.size() < 2) return code;
  for (std::size_t i = 0; i < condition->values.size(); ++i) {
    if (names_value(condition->values[i], value)) return static_cast<std::uint32_t>(i);
  }
  return code;
}

Result<std::set<std::pair<Key, Key>>> ordered_combinations(const Records& records,
                                                           const RecordIds& candidates,
                                                           const std::vector<std::string>& by,
                                                           const Filter& where,
                                                           const std::string& metric) {
  auto ids = select(records, candidates, where);
  if (!ids) return tl::unexpected(ids.error());
  std::set<std::pair<Key, Key>> combinations;
  for (const std::uint32_t id : *ids) {
    const store::Series& series = *records[id].series;
    if (!metric.empty() && series.metric != metric && series.outcome == Outcome::ok) continue;
    Key order, codes;
    for (const std::string& name : by) {
      const std::size_t axis = records.axis(name).value_or(0);
      const std::uint32_t code = records.code(id, axis);
      codes.push_back(code);
      order.push_back(place(where, name, records.axes()[axis].values[code], code));
    }
    combinations.emplace(std::move(order), std::move(codes));
  }
  return combinations;
}

Filter filter_of(const Records& records, const std::vector<std::string>& axes, const Key& codes) {
  Filter filter;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto& values = records.axes()[records.axis(axes[i]).value_or(0)].values;
    filter.conditions.push_back({axes[i], {to_text(values[codes[i]])}});
  }
  return filter;
}

Column pivoted(const Pivot& pivot, const Filter& combination) {
  Column column = pivot.column;
  auto& measure = std::get<Measure>(column.content);
  Filter where;
  for (const Condition& condition : measure.where.conditions) {
    if (!combination.on(condition.axis)) where.conditions.push_back(condition);
  }
  where.expressions = measure.where.expressions;
  where.add(combination);
  measure.where = std::move(where);
  column.name = pivot.name.render([&](const Template::Field& field) {
    const Condition* condition = combination.on(field.name);
    const std::string text = condition ? condition->values.front() : "";
    const auto label = column.labels.find(text);
    return pad(label == column.labels.end() ? text : label->second, field.spec);
  });
  column.labels.clear();
  return column;
}

}  // namespace

Result<RecordIds> select_both(const Records& records, Filter where, const Filter& combination) {
  where.add(combination);
  return select(records, all_ids(records), where);
}

Result<std::vector<Column>> spread_pivots(const Records& records, const RecordIds& candidates,
                                          const GridSpec& spec) {
  std::vector<Column> columns;
  std::size_t next = 0;
  if (!spec.pivots.empty()) {
    while (next < spec.columns.size() &&
           std::holds_alternative<AxisContent>(spec.columns[next].content)) {
      columns.push_back(spec.columns[next++]);
    }
  }
  for (const Pivot& pivot : spec.pivots) {
    const auto& measure = std::get<Measure>(pivot.column.content);
    Filter where = spec.where;
    where.add(measure.where);
    auto combinations = ordered_combinations(records, candidates, pivot.by, where, measure.metric);
    if (!combinations) return tl::unexpected(combinations.error());
    for (const auto& [order, codes] : *combinations) {
      columns.push_back(pivoted(pivot, filter_of(records, pivot.by, codes)));
    }
  }
  columns.insert(columns.end(), spec.columns.begin() + static_cast<std::ptrdiff_t>(next),
                 spec.columns.end());
  return columns;
}

Result<std::vector<Filter>> combinations(const Records& records,
                                         const std::vector<std::string>& axes, const Filter& where,
                                         const std::string& metric) {
  if (axes.empty()) return std::vector<Filter>(1);
  auto found = ordered_combinations(records, all_ids(records), axes, where, metric);
  if (!found) return tl::unexpected(found.error());
  std::vector<Filter> filters;
  for (const auto& [order, codes] : *found) filters.push_back(filter_of(records, axes, codes));
  return filters;
}

std::string render_title(const Template& title, const Filter& combination) {
  return title.render([&](const Template::Field& field) {
    const Condition* condition = combination.on(field.name);
    return pad(condition ? condition->values.front() : "", field.spec);
  });
}

}  // namespace assay::report
