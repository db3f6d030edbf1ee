#include "report/picture/roofline.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "report/spec/units.h"
#include "report/table/pivot.h"
#include "statistics/quantiles.h"

namespace assay::report {
namespace {

Measure count_of(const Measure& rate, const std::string& metric) {
  Measure count = rate;
  count.rate.reset();
  count.metric = metric;
  count.unit.clear();
  count.statistic = Statistic::mean;
  return count;
}

class RooflineBuilder {
 public:
  RooflineBuilder(const Records& records, const PlotSpec& spec) : records_(records), spec_(spec) {
    for (const std::string& name : spec.series) add_axis(name);
    if (!spec.x.empty()) add_axis(spec.x);
  }

  Result<PlotData> build(const Filter& combination) {
    const auto candidates = select_both(records_, spec_.where, combination);
    if (!candidates) return tl::unexpected(candidates.error());
    const Measure flops = count_of(spec_.y, "flops"), bytes = count_of(spec_.y, "bytes");
    const auto rates = index(*candidates, spec_.y), operations = index(*candidates, flops),
               traffic = index(*candidates, bytes);
    for (const auto* made : {&rates, &operations, &traffic}) {
      if (!*made) return tl::unexpected(made->error());
    }
    std::vector<std::pair<Key, RecordIds>> results(rates->found().begin(), rates->found().end());
    std::ranges::sort(results);
    for (const auto& [key, ids] : results) {
      const auto rate = rates->at(key), work = operations->at(key), moved = traffic->at(key);
      if (!rate) return tl::unexpected(rate.error());
      if (!work) return tl::unexpected(work.error());
      if (!moved) return tl::unexpected(moved.error());
      if (!rate->is_number() || !work->is_number() || !(moved->number > 0)) continue;
      unit_ = rate->unit;
      PlotPoint point{work->number / moved->number, rate->number, rate->number, rate->number};
      for (const store::Mark& mark : rate->marks) point.marks.insert(mark.mark);
      add(key, std::move(point));
      add_roof(ids.front());
    }
    return finish();
  }

 private:
  void add_axis(const std::string& name) {
    if (const auto axis = records_.axis(name)) axes_.push_back(*axis);
  }

  Result<MeasureIndex> index(const RecordIds& candidates, const Measure& measure) const {
    return MeasureIndex::build(records_, candidates, measure, axes_, "roofline", spec_.at);
  }

  void add(const Key& key, PlotPoint point) {
    std::vector<std::string> parts;
    for (std::size_t i = 0; i < spec_.series.size() && i < key.size(); ++i) {
      const Value& value = records_.axes()[axes_[i]].values[key[i]];
      const auto named = spec_.labels.find(to_text(value));
      const std::string text = named == spec_.labels.end() ? to_text(value) : named->second;
      if (text.empty()) continue;
      parts.push_back(Cell::of_value(value).is_number() ? spec_.series[i] + " " + text : text);
    }
    const std::string name = join(parts, ", ");
    auto line = std::ranges::find(data_.lines, name, &PlotLine::name);
    if (line == data_.lines.end()) line = data_.lines.insert(line, {name, {}, {}});
    line->points.push_back(std::move(point));
  }

  void add_roof(std::uint32_t record) {
    const Ceilings* known = records_.ceilings(record);
    if (known == nullptr) return;
    const store::Parameters& parameters = records_[record].result->parameters;
    const auto product = ceiling_meant("auto", "flops", records_[record].series->pass, parameters);
    const Ceiling* level = product ? known->find(*product, parameters) : nullptr;
    const Ceiling* slope = known->find("copy", parameters);
    if (level == nullptr || slope == nullptr) return;
    const std::string name = fmt::format("{} {}, {} {}", slope->name, value_with_unit(*slope),
                                         level->name, value_with_unit(*level));
    const auto same = [&](const Roof& roof) { return roof.name == name; };
    if (std::ranges::any_of(data_.roofs, same)) return;
    data_.roofs.push_back({name, slope->value, level->value});
  }

  std::string chosen_unit() const {
    if (!spec_.y.unit.empty()) return unit_;
    std::vector<double> rates;
    for (const PlotLine& line : data_.lines) {
      for (const PlotPoint& point : line.points) rates.push_back(point.y);
    }
    for (const Roof& roof : data_.roofs) rates.push_back(roof.level);
    return rates.empty() ? unit_ : sensible_unit(statistics::median(rates), unit_);
  }

  PlotData finish() {
    const std::string shown = chosen_unit();
    const double factor = convert(1, unit_, shown);
    const double of_roofs = convert(1, "FLOP/s", shown);
    for (PlotLine& line : data_.lines) {
      for (PlotPoint& point : line.points) {
        for (double* value : {&point.y, &point.low, &point.high}) *value *= factor;
      }
      std::ranges::stable_sort(line.points, {}, &PlotPoint::x);
    }
    for (Roof& roof : data_.roofs) {
      roof.slope *= of_roofs;
      roof.level *= of_roofs;
    }
    data_.form = PlotForm::points;
    data_.log_x = data_.log_y = true;
    data_.x_label = "intensity [FLOP/byte]";
    data_.y_label = spec_.y_title.empty() ? "achieved [" + shown + "]" : spec_.y_title;
    return std::move(data_);
  }

  const Records& records_;
  const PlotSpec& spec_;
  std::vector<std::size_t> axes_;  // of series, then x
  std::string unit_;
  PlotData data_;
};

}  // namespace

Result<PlotData> roofline_data(const Records& records, const PlotSpec& spec,
                               const Filter& combination) {
  return RooflineBuilder(records, spec).build(combination);
}

}  // namespace assay::report
