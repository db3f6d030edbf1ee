#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "report/data/cell.h"
#include "report/data/reduce.h"
#include "report/picture/picture.h"
#include "report/picture/plot_script.h"
#include "report/spec/units.h"
#include "report/table/pivot.h"
#include "statistics/quantiles.h"

namespace assay::report {
namespace {

class PlotBuilder {
 public:
  PlotBuilder(const Records& records, const PlotSpec& spec) : records_(records), spec_(spec) {}

  Result<PlotData> build(const Filter& combination) {
    axes_.push_back(records_.axis(spec_.x).value_or(0));
    for (const std::string& name : spec_.series) axes_.push_back(records_.axis(name).value_or(0));
    auto candidates = select_both(records_, spec_.where, combination);
    if (!candidates) return tl::unexpected(candidates.error());

    auto figures = index(*candidates, spec_.y);
    if (!figures) return tl::unexpected(figures.error());
    for (const auto& [key, ids] : figures->found()) {
      if (key[0] == 0) continue;  // the case has no value of x
      const auto cell = figures->at(key);
      if (!cell) return tl::unexpected(cell.error());
      if (!cell->is_number()) continue;
      unit_ = cell->unit;
      points_.emplace_back(
          key, PlotPoint{0, cell->number, cell->number, cell->number, !cell->unverified.empty()});
    }
    if (auto done = add_bars(*candidates); !done) return tl::unexpected(done.error());
    return finish();
  }

 private:
  Result<MeasureIndex> index(const RecordIds& candidates, const Measure& measure) const {
    return MeasureIndex::build(records_, candidates, measure, axes_, "plot", spec_.at);
  }

  // Calls `set` with each point that has the statistic; false: none has it.
  template <class Set>
  Result<bool> for_statistic(const RecordIds& candidates, Statistic statistic, const Set& set) {
    Measure measure = spec_.y;
    measure.statistic = statistic;
    const auto figures = index(candidates, measure);
    if (!figures) return tl::unexpected(figures.error());
    bool any = false;
    for (auto& [key, point] : points_) {
      const auto cell = figures->at(key);
      if (!cell) return tl::unexpected(cell.error());
      if (cell->is_number()) set(point, cell->number);
      any = any || cell->is_number();
    }
    return any;
  }

  Result<void> add_bars(const RecordIds& candidates) {
    using Bars = PlotSpec::Bars;
    if (spec_.bars == Bars::none || spec_.y.relative_to) return {};
    if (spec_.bars != Bars::interval) {
      const auto any = for_statistic(candidates, Statistic::std, [](PlotPoint& point, double std) {
        point.low = point.y - std;
        point.high = point.y + std;
      });
      if (!any) return tl::unexpected(any.error());
      if (*any || spec_.bars == Bars::std) return {};
    }
    const auto low = for_statistic(candidates, Statistic::ci_low,
                                   [](PlotPoint& point, double end) { point.low = end; });
    if (!low) return tl::unexpected(low.error());
    const auto high = for_statistic(candidates, Statistic::ci_high,
                                    [](PlotPoint& point, double end) { point.high = end; });
    if (!high) return tl::unexpected(high.error());
    return {};
  }

  PlotData finish() {
    PlotData data;
    data.log_x = spec_.log_x;
    data.log_y = spec_.log_y;
    std::sort(points_.begin(), points_.end(), [](const auto& a, const auto& b) {
      const Key line_a(a.first.begin() + 1, a.first.end()),
          line_b(b.first.begin() + 1, b.first.end());
      return line_a != line_b ? line_a < line_b : a.first[0] < b.first[0];
    });
    numeric_x_ = x_is_numeric();
    if (!numeric_x_) {
      data.log_x = false;
      for (std::size_t code = 1; code < x_values().size(); ++code) {
        data.x_categories.push_back(label(x_values()[code]));
      }
    }
    const std::string shown = choose_unit();
    const double factor = convert(1, unit_, shown);
    Key line;
    for (auto& [key, point] : points_) {
      const Key own(key.begin() + 1, key.end());
      if (data.lines.empty() || own != line) data.lines.push_back({line_name(own), {}});
      line = own;
      point.x = x_of(key[0]);
      point.y *= factor;
      point.low *= factor;
      point.high *= factor;
      data.lines.back().points.push_back(point);
    }
    for (PlotLine& one : data.lines) {
      std::stable_sort(one.points.begin(), one.points.end(),
                       [](const PlotPoint& a, const PlotPoint& b) { return a.x < b.x; });
      mark_unverified(one);
    }
    data.x_label = spec_.x_unit.empty() ? spec_.x : spec_.x + " [" + spec_.x_unit + "]";
    data.y_label = y_label(shown);
    return data;
  }

  // In the legend, which stays with the picture.
  static void mark_unverified(PlotLine& line) {
    const auto unverified = std::count_if(line.points.begin(), line.points.end(),
                                          [](const PlotPoint& point) { return point.unverified; });
    line.name += not_verified(static_cast<std::size_t>(unverified), line.points.size(), "points");
    if (line.name.starts_with(' ')) line.name.erase(0, 1);
  }

  const std::vector<Value>& x_values() const { return records_.axes()[axes_[0]].values; }

  bool x_is_numeric() const {
    return std::all_of(points_.begin(), points_.end(), [&](const auto& point) {
      return Cell::of_value(x_values()[point.first[0]]).is_number();
    });
  }

  double x_of(std::uint32_t code) const {
    if (!numeric_x_) return static_cast<double>(code) - 1;
    const double number = Cell::of_value(x_values()[code]).number;
    return spec_.x_unit.empty() ? number
                                : convert(number, unit_of_data(spec_.x_unit).base, spec_.x_unit);
  }

  // The spec's unit, or one that suits the upper figures.
  std::string choose_unit() const {
    if (!spec_.y.unit.empty() || points_.empty()) return unit_;
    std::vector<double> figures;
    for (const auto& [key, point] : points_) figures.push_back(point.y);
    std::sort(figures.begin(), figures.end());
    return sensible_unit(statistics::percentile(figures, 80), unit_);
  }

  std::string label(const Value& value) const {
    const std::string text = to_text(value);
    const auto at = spec_.labels.find(text);
    return at == spec_.labels.end() ? text : at->second;
  }

  std::string line_name(const Key& key) const {
    std::vector<std::string> parts;
    for (std::size_t i = 0; i < key.size(); ++i) {
      const std::string& axis = spec_.series[i];
      if ((axis == "run" || axis == "source") && records_.sources().size() == 1) continue;
      const Value& value = records_.axes()[axes_[i + 1]].values[key[i]];
      std::string text = label(value);
      const bool bare_number =
          Cell::of_value(value).is_number() && !spec_.labels.count(to_text(value));
      if (text.empty()) continue;
      parts.push_back(bare_number ? axis + " " + text : text);
    }
    return join(parts, ", ");
  }

  std::string y_figure() const {
    const auto& rate = spec_.y.rate;
    if (!rate) return spec_.y.metric;
    return rate->share_of.empty() ? rate->count + " / time" : rate->count + ": share of ceiling";
  }

  std::string y_label(const std::string& unit) const {
    if (!spec_.y_title.empty()) return spec_.y_title;
    std::string text = y_figure();
    const Condition* pass = spec_.y.where.on("pass");
    if (pass && pass->values.size() == 1) text = pass->values.front() + " " + text;
    if (spec_.y.relative_to) return text + (spec_.y.inverse ? ": speed-up" : ": ratio");
    if (spec_.y.statistic != Statistic::mean)
      text += fmt::format(" ({})", statistic_name(spec_.y.statistic));
    return unit.empty() ? text : text + " [" + unit + "]";
  }

  const Records& records_;
  const PlotSpec& spec_;
  std::vector<std::size_t> axes_;
  bool numeric_x_ = true;
  std::string unit_;
  std::vector<std::pair<Key, PlotPoint>> points_;
};

}  // namespace

Result<std::vector<Section>> plot_sections(const Records& records, const PlotSpec& spec,
                                           const PictureFolder& folder, int& number) {
  auto repeats = combinations(records, spec.for_each, spec.where, spec.y.metric);
  if (!repeats) return tl::unexpected(repeats.error());
  std::vector<Section> sections;
  for (const Filter& combination : *repeats) {
    auto data = PlotBuilder(records, spec).build(combination);
    if (!data) return tl::unexpected(data.error());
    if (data->lines.empty()) {
      sections.push_back(Paragraph{"No result matches this plot."});
      continue;
    }
    data->title = picture_title(spec.title, combination);
    const std::string alternative =
        data->title.empty() ? data->y_label + " over " + data->x_label : data->title;
    sections.push_back(
        picture(folder, fmt::format("plot-{}", ++number), alternative, plot_csv(*data),
                [&](const std::filesystem::path& svg) { return gnuplot_script(*data, svg); }));
  }
  return sections;
}

}  // namespace assay::report
