#include "report/data/select.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/fnv.h"
#include "base/text.h"
#include "report/data/reduce.h"
#include "report/spec/units.h"

namespace assay::report {
namespace {

struct BoundCondition {
  std::size_t axis;
  std::vector<bool> accepted;  // by code
};

// nullopt: the data have no such axis.
std::optional<BoundCondition> bind(const Records& records, const Condition& condition) {
  const auto axis = records.axis(condition.axis);
  if (!axis) return std::nullopt;
  const auto& values = records.axes()[*axis].values;
  BoundCondition bound{*axis, std::vector<bool>(values.size(), false)};
  for (std::size_t code = 0; code < values.size(); ++code) {
    for (const std::string& text : condition.values) {
      if (names_value(text, values[code])) bound.accepted[code] = true;
    }
  }
  return bound;
}

Result<bool> holds(const Records& records, std::uint32_t id, const Expression& expression) {
  auto value = expression.evaluate([&](const std::string& name) -> Value {
    const auto axis = records.axis(name);
    return axis ? records.value(id, *axis) : Value{};
  });
  if (!value) return tl::unexpected(value.error());
  const auto* truth = std::get_if<bool>(&*value);
  return truth && *truth;
}

Key key_of(const Records& records, std::uint32_t id, const std::vector<std::size_t>& axes) {
  Key key(axes.size());
  for (std::size_t i = 0; i < axes.size(); ++i) key[i] = records.code(id, axes[i]);
  return key;
}

Cell failed_cell(const Records::Record& record) {
  Cell cell = Cell::of_outcome(record.series->outcome, record.series->reason);
  cell.discarded = record.discarded;
  return cell;
}

// Distinct, in the order of the ranks.
std::string words_of(const std::vector<const store::Series*>& series) {
  std::vector<std::string> words;
  for (const store::Series* one : series) {
    for (const std::string& word : one->words) {
      if (std::find(words.begin(), words.end(), word) == words.end()) words.push_back(word);
    }
  }
  return join(words, ", ");
}

bool names_option_of(const std::string& axis, const Filter& filter) {
  return std::any_of(filter.conditions.begin(), filter.conditions.end(), [&](const Condition& c) {
    return axis == c.axis || axis.rfind(c.axis + ".", 0) == 0;
  });
}

Filter without(const Filter& filter, const Filter& dropped) {
  Filter rest;
  rest.expressions = filter.expressions;
  for (const Condition& condition : filter.conditions) {
    if (!dropped.on(condition.axis)) rest.conditions.push_back(condition);
  }
  return rest;
}

Filter only_about_parts(const Filter& filter, bool parts) {
  Filter chosen;
  if (!parts) chosen.expressions = filter.expressions;
  for (const Condition& condition : filter.conditions) {
    if ((condition.axis == "part") == parts) chosen.conditions.push_back(condition);
  }
  return chosen;
}

}  // namespace

std::size_t KeyHash::operator()(const Key& key) const {
  std::uint64_t hash = fnv_basis;
  for (const std::uint32_t code : key) hash = fnv_with(hash, code);
  return hash;
}

Result<RecordIds> select(const Records& records, const RecordIds& candidates,
                         const Filter& filter) {
  std::vector<BoundCondition> bound;
  for (const Condition& condition : filter.conditions) {
    auto on_axis = bind(records, condition);
    if (!on_axis) return RecordIds();
    bound.push_back(std::move(*on_axis));
  }
  RecordIds passed;
  for (const std::uint32_t id : candidates) {
    bool good = std::all_of(bound.begin(), bound.end(), [&](const BoundCondition& condition) {
      return condition.accepted[records.code(id, condition.axis)];
    });
    for (std::size_t i = 0; good && i < filter.expressions.size(); ++i) {
      const auto truth = holds(records, id, filter.expressions[i]);
      if (!truth) return tl::unexpected(truth.error());
      good = *truth;
    }
    if (good) passed.push_back(id);
  }
  return passed;
}

bool is_numeric_axis(const Records& records, std::size_t axis) {
  if (records.axes()[axis].name == "repeat") return false;  // a count, not a size
  const auto& values = records.axes()[axis].values;
  return std::all_of(values.begin() + 1, values.end(),
                     [](const Value& value) { return Cell::of_value(value).is_number(); });
}

double number_at(const Records& records, std::uint32_t record, std::size_t axis) {
  return Cell::of_value(records.value(record, axis)).number;
}

Result<MeasureIndex> MeasureIndex::build(const Records& records, const RecordIds& candidates,
                                         const Measure& measure, std::vector<std::size_t> axes,
                                         std::string name, SourceLocation where) {
  MeasureIndex index;
  index.records_ = &records;
  index.measure_ = &measure;
  index.axes_ = std::move(axes);
  index.name_ = std::move(name);
  index.where_ = std::move(where);

  if (measure.rate) index.rate_ = std::make_shared<const RateOfRecords>(records, measure);
  Filter parts = only_about_parts(measure.where, true);
  const bool any_part = std::ranges::count(index.axes_, part_axis) > 0 ||
                        std::ranges::count(measure.pool, "part") > 0;
  if (parts.empty() && !any_part) parts.conditions.push_back({"part", {""}});

  const auto matching = select(records, candidates, only_about_parts(measure.where, false));
  if (!matching) return tl::unexpected(matching.error());
  RecordIds of_metric;
  for (const std::uint32_t id : *matching) {
    if (records[id].series->metric == measure.metric) of_metric.push_back(id);
  }
  const auto chosen = select(records, of_metric, parts);
  if (!chosen) return tl::unexpected(chosen.error());
  auto results = std::make_shared<Results>();
  auto next = chosen->begin();  // both are in one order
  for (const std::uint32_t id : *matching) {
    Key key = key_of(records, id, index.axes_);
    if (records[id].series->outcome != Outcome::ok) results->failed[key].push_back(id);
    if (next != chosen->end() && *next == id) {
      results->found[std::move(key)].push_back(id);
      ++next;
    } else {
      results->others.insert(std::move(key));
    }
  }
  index.results_ = std::move(results);

  if (measure.relative_to) {
    Measure base = measure;
    base.relative_to.reset();
    base.where = without(measure.where, *measure.relative_to);
    base.where.add(*measure.relative_to);
    index.base_measure_ = std::make_shared<const Measure>(std::move(base));
    std::vector<std::size_t> base_axes;
    for (std::size_t i = 0; i < index.axes_.size(); ++i) {
      if (names_option_of(records.axes()[index.axes_[i]].name, *measure.relative_to)) continue;
      index.base_keys_.push_back(i);
      base_axes.push_back(index.axes_[i]);
    }
    auto base_index = build(records, candidates, *index.base_measure_, std::move(base_axes),
                            index.name_, index.where_);
    if (!base_index) return tl::unexpected(base_index.error());
    index.base_ = std::make_shared<const MeasureIndex>(std::move(*base_index));
  }
  return index;
}

MeasureIndex MeasureIndex::by(const Measure& measure) const {
  MeasureIndex index = *this;
  index.measure_ = &measure;
  if (measure.rate) index.rate_ = std::make_shared<const RateOfRecords>(*records_, measure);
  return index;
}

std::vector<std::string> distinct_texts(const Records& records, const RecordIds& ids,
                                        std::size_t axis, std::string_view none) {
  std::vector<std::string> texts;
  std::set<std::string> seen;
  for (const std::uint32_t id : ids) {
    std::string text = to_text(records.value(id, axis));
    if (text.empty()) text = none;
    if (seen.insert(text).second) texts.push_back(std::move(text));
  }
  return texts;
}

std::vector<std::string> differing_axes(const Records& records, const RecordIds& ids,
                                        const std::vector<std::string_view>& aside) {
  std::vector<std::string> differences;
  for (std::size_t axis = 0; !ids.empty() && axis < records.first_derived(); ++axis) {
    const std::string& name = records.axes()[axis].name;
    if (std::count(aside.begin(), aside.end(), name) > 0) continue;
    const std::vector<std::string> values = distinct_texts(records, ids, axis, "''");
    if (values.size() > 1) differences.push_back(fmt::format("{} ({})", name, join(values, ", ")));
  }
  return differences;
}

std::string why_unverified(const Records& records, const RecordIds& ids) {
  for (const std::uint32_t id : ids) {
    const store::Series* series = records[id].series;
    if (series->clock.empty()) continue;
    const auto& unverified = records[id].result->facts.unverified;
    const auto reason = unverified.find(series->pass);
    if (reason != unverified.end()) return reason->second;
  }
  return {};
}

std::string not_verified(std::size_t unverified, std::size_t all, std::string_view what) {
  if (unverified == 0) return "";
  if (unverified == all) return " (not verified)";
  return fmt::format(" ({} of {} {} not verified)", unverified, all, what);
}

std::vector<store::Mark> marks_of(const Records& records, const RecordIds& ids) {
  std::vector<store::Mark> marks;
  for (const std::uint32_t id : ids) {
    add_marks(store::marks_of(*records[id].result, *records[id].series), marks);
  }
  return marks;
}

Result<Cell> MeasureIndex::at(const Key& key) const {
  Cell cell;
  const auto& [found_by_key, failed_by_key, others] = *results_;
  if (const auto found = found_by_key.find(key); found != found_by_key.end()) {
    auto figure = value(found->second);
    if (!figure) return figure;
    cell = std::move(*figure);
    cell.unverified = why_unverified(*records_, found->second);
    const bool counted = measure_->statistic == Statistic::n;
    cell.timed = !counted && std::ranges::any_of(found->second, [&](std::uint32_t id) {
      return !(*records_)[id].series->clock.empty();
    });
    if (!counted && (cell.kind == Cell::Kind::number || cell.kind == Cell::Kind::list)) {
      cell.marks = marks_of(*records_, found->second);
    }
  } else if (const auto failed = failed_by_key.find(key); failed != failed_by_key.end()) {
    cell = failed_cell((*records_)[failed->second.front()]);
  } else {
    cell.reason = others.contains(key) ? fmt::format("no {} is stored for it", measure_->metric)
                                       : "no result is stored for it";
  }
  if (!base_ || !cell.is_number()) return cell;
  Key base_key(base_keys_.size());
  for (std::size_t i = 0; i < base_keys_.size(); ++i) base_key[i] = key[base_keys_[i]];
  auto base = base_->at(base_key);
  if (!base) return base;
  Cell ratio = relative(cell, *base);
  const auto itself = base_->found().find(base_key);
  if (itself != base_->found().end() && itself->second == found_by_key.at(key)) {
    ratio.marks.clear();  // 1, however well its figure is known
    ratio.uncertainty.reset();
  }
  return ratio;
}

Cell MeasureIndex::relative(const Cell& cell, const Cell& base) const {
  const double above = measure_->inverse ? base.number : cell.number;
  const double below = measure_->inverse ? cell.number : base.number;
  if (base.is_number() && below != 0) {
    Cell ratio = Cell::of(above / below);
    ratio.formula = cell.formula;
    if (cell.uncertainty && base.uncertainty && cell.number != 0) {
      ratio.uncertainty = ratio.number * std::hypot(*cell.uncertainty / cell.number,
                                                    *base.uncertainty / base.number);
    }
    ratio.unverified = cell.unverified.empty() ? base.unverified : cell.unverified;
    ratio.timed = cell.timed;
    ratio.marks = cell.marks;
    add_marks(base.marks, ratio.marks);
    return ratio;
  }
  switch (base.kind) {
    case Cell::Kind::undefined:
      return Cell::undefined(base.reason);
    case Cell::Kind::outcome:
      return Cell::undefined(fmt::format("its baseline is {}", to_text(base.outcome)));
    case Cell::Kind::missing:
      return Cell::undefined("its baseline is missing");
    default:
      return Cell::undefined("it would be divided by 0");
  }
}

bool MeasureIndex::are_ranks(const RecordIds& ids) const {
  const std::uint32_t first = ids.front();
  return std::all_of(ids.begin(), ids.end(), [&](std::uint32_t id) {
    return (*records_)[id].case_number == (*records_)[first].case_number &&
           records_->code(id, pass_axis) == records_->code(first, pass_axis) &&
           records_->code(id, part_axis) == records_->code(first, part_axis);
  });
}

std::vector<std::string> MeasureIndex::not_pooled(const RecordIds& ids) const {
  std::vector<std::string_view> aside{"rank", "run"};
  aside.insert(aside.end(), measure_->pool.begin(), measure_->pool.end());
  return differing_axes(*records_, ids, aside);
}

Result<Cell> MeasureIndex::value(const RecordIds& ids) const {
  const bool one_series = are_ranks(ids);
  if (!one_series && (measure_->pool.empty() || !not_pooled(ids).empty())) return ambiguous(ids);
  std::vector<const store::Series*> series;
  for (const std::uint32_t id : ids) {
    const store::Series* record = (*records_)[id].series;
    if (record->outcome != Outcome::ok) return failed_cell((*records_)[id]);
    series.push_back(record);
  }
  const RankRule rule = one_series ? measure_->ranks : RankRule::pool;
  if (rate_ && measure_->statistic != Statistic::n) return rate_->cell(ids, series, rule);
  return figure(series, rule);
}

Cell MeasureIndex::figure(const std::vector<const store::Series*>& series, RankRule rule) const {
  if (std::any_of(series.begin(), series.end(),
                  [](const store::Series* one) { return !one->words.empty(); })) {
    return Cell::of_text(words_of(series));
  }
  const std::string& unit = series.front()->unit;
  const std::string& shown = measure_->unit.empty() ? unit : measure_->unit;
  if (measure_->statistic == Statistic::samples) {
    Cell cell;
    cell.kind = Cell::Kind::list;
    cell.unit = shown;
    for (const double sample : over_ranks(series, rule))
      cell.list.push_back(convert(sample, unit, shown));
    return cell;
  }
  const auto number = reduce(series, rule, measure_->statistic);
  if (!number) return Cell();
  if (measure_->statistic == Statistic::n) {
    Cell cell = Cell::of(*number, "count");
    cell.integral = true;
    return cell;
  }
  if (!has_unit(measure_->statistic)) return Cell::of(*number);
  Cell cell = Cell::of(convert(*number, unit, shown), shown);
  cell.is_uncertainty = is_uncertainty(measure_->statistic);
  if (const auto behind = uncertainty_of(measure_->statistic)) {
    const auto uncertainty = reduce(series, rule, *behind);
    if (uncertainty) cell.uncertainty = convert(*uncertainty, unit, shown);
  }
  cell.integral = unit == "count" && cell.number == std::floor(cell.number);
  return cell;
}

tl::unexpected<Error> MeasureIndex::ambiguous(const RecordIds& ids) const {
  const std::vector<std::string> differences = not_pooled(ids);
  std::vector<std::string> row;
  for (const std::size_t axis : axes_) {
    row.push_back(records_->axes()[axis].name + "=" + to_text(records_->value(ids.front(), axis)));
  }
  const std::string name = shown_name(name_);
  const std::string place = row.empty() ? "its only row" : "row " + join(row, ", ");
  if (differences.empty()) {
    return fail_at(where_,
                   fmt::format("'{}' has several results of {} with the same parameters in {}",
                               name, measure_->metric, place),
                   "pool them with `pool: [source]`, or report a single run");
  }
  return fail_at(where_,
                 fmt::format("'{}' has more than one {} in {}: they differ in {}", name,
                             measure_->metric, place, join(differences, ", ")),
                 "name those axes in `rows` or `by`, or choose one result with `where`");
}

}  // namespace assay::report
