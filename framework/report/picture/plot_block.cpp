#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/text.h"
#include "report/data/cell.h"
#include "report/data/reduce.h"
#include "report/document/markdown_table.h"
#include "report/picture/picture.h"
#include "report/picture/plot_script.h"
#include "report/picture/roofline.h"
#include "report/spec/numbers.h"
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
    for (const auto* results : {&figures->found(), &figures->failed()}) {
      for (const auto& [key, ids] : *results) {
        if (key[0] == 0) continue;  // the case has no value of x
        const bool again = results == &figures->failed() && figures->found().contains(key);
        if (auto done = again ? Result<void>() : add(key, figures->at(key)); !done) {
          return tl::unexpected(done.error());
        }
      }
    }
    if (auto done = is_box() ? add_samples(*figures) : Result<void>(); !done) {
      return tl::unexpected(done.error());
    }
    if (auto done = add_bars(*figures); !done) return tl::unexpected(done.error());
    return finish();
  }

 private:
  Result<MeasureIndex> index(const RecordIds& candidates, const Measure& measure) const {
    return MeasureIndex::build(records_, candidates, measure, axes_, "plot", spec_.at);
  }

  bool is_box() const { return spec_.kind == PlotSpec::Kind::box; }

  // A figure, or a failure that the picture tells. Cases that were skipped or that a variant does
  // not support are none.
  Result<void> add(const Key& key, const Result<Cell>& cell) {
    if (!cell) return tl::unexpected(cell.error());
    if (cell->is_number()) {
      unit_ = cell->unit;
      PlotPoint point{0, cell->number, cell->number, cell->number, !cell->unverified.empty()};
      for (const store::Mark& mark : cell->marks) point.marks.insert(mark.mark);
      points_.emplace_back(key, std::move(point));
      return {};
    }
    const bool told = !cell->discarded.empty() ||
                      (cell->outcome != Outcome::skipped && cell->outcome != Outcome::unsupported);
    if (cell->kind != Cell::Kind::outcome || !told) return {};
    failures_.emplace_back(key, PlotFailure{0, display(*cell, Column(), {}), cell->reason});
    return {};
  }

  Result<void> add_samples(const MeasureIndex& shown) {
    Measure measure = spec_.y;
    measure.statistic = Statistic::samples;
    const MeasureIndex samples = shown.by(measure);
    for (auto& [key, point] : points_) {
      const auto cell = samples.at(key);
      if (!cell) return tl::unexpected(cell.error());
      if (cell->kind == Cell::Kind::list && !cell->list.empty()) point.box = box_of(cell->list);
    }
    std::erase_if(points_, [](const auto& one) { return !one.second.box; });
    return {};
  }

  // Calls `set` with each point that has the statistic; false: none has it.
  template <class Set>
  Result<bool> for_statistic(const MeasureIndex& shown, Statistic statistic, const Set& set) {
    Measure measure = spec_.y;
    measure.statistic = statistic;
    const MeasureIndex figures = shown.by(measure);
    bool any = false;
    for (auto& [key, point] : points_) {
      const auto cell = figures.at(key);
      if (!cell) return tl::unexpected(cell.error());
      if (cell->is_number()) set(point, cell->number);
      any = any || cell->is_number();
    }
    return any;
  }

  Result<void> add_bars(const MeasureIndex& figures) {
    using Bars = PlotSpec::Bars;
    if (spec_.bars == Bars::none || spec_.y.relative_to || is_box()) return {};
    const Statistic shown = spec_.y.statistic;
    if (shown == Statistic::median) {
      return add_interval(figures, Statistic::median_ci_low, Statistic::median_ci_high);
    }
    if (shown != Statistic::mean) return {};
    if (spec_.bars != Bars::interval) {
      const auto any = for_statistic(figures, Statistic::std, [](PlotPoint& point, double std) {
        point.low = point.y - std;
        point.high = point.y + std;
      });
      if (!any) return tl::unexpected(any.error());
      if (*any || spec_.bars == Bars::std) return {};
    }
    return add_interval(figures, Statistic::ci_low, Statistic::ci_high);
  }

  // An interval beside a median says what the mark `wide` would.
  Result<void> add_interval(const MeasureIndex& figures, Statistic low_end, Statistic high_end) {
    const auto low =
        for_statistic(figures, low_end, [](PlotPoint& point, double end) { point.low = end; });
    if (!low) return tl::unexpected(low.error());
    const auto high =
        for_statistic(figures, high_end, [](PlotPoint& point, double end) { point.high = end; });
    if (!high) return tl::unexpected(high.error());
    for (auto& [key, point] : points_) point.marks.erase(std::string(wide_mark));
    return {};
  }

  PlotData finish() {
    PlotData data;
    data.log_x = spec_.log_x && !is_box();
    data.log_y = spec_.log_y;
    const auto by_line = [](const auto& a, const auto& b) {
      const Key line_a(a.first.begin() + 1, a.first.end()),
          line_b(b.first.begin() + 1, b.first.end());
      return line_a != line_b ? line_a < line_b : a.first[0] < b.first[0];
    };
    std::sort(points_.begin(), points_.end(), by_line);
    std::sort(failures_.begin(), failures_.end(), by_line);
    numeric_x_ = x_is_numeric() && !is_box() && spec_.kind != PlotSpec::Kind::bars;
    if (!numeric_x_) {
      data.log_x = false;
      name_categories(data);
    }
    data.form = is_box()                                           ? PlotForm::boxes
                : numeric_x_ || spec_.kind == PlotSpec::Kind::line ? PlotForm::lines
                : data.log_y                                       ? PlotForm::points
                                                                   : PlotForm::bars;
    const std::string shown = choose_unit();
    add_lines(data, convert(1, unit_, shown));
    for (PlotLine& one : data.lines) {
      std::ranges::stable_sort(one.points, {}, &PlotPoint::x);
      mark_unverified(one);
    }
    data.x_label = spec_.x_unit.empty() ? spec_.x : spec_.x + " [" + spec_.x_unit + "]";
    data.y_label = y_label(shown);
    return data;
  }

  // Places for the values that some point has, in the order of the values.
  void name_categories(PlotData& data) {
    std::set<std::uint32_t> codes;
    for (const auto& [key, point] : points_) codes.insert(key[0]);
    for (const auto& [key, failure] : failures_) codes.insert(key[0]);
    std::vector<std::uint32_t> order(codes.begin(), codes.end());
    if (x_is_numeric()) {
      std::ranges::sort(
          order, {}, [&](std::uint32_t code) { return Cell::of_value(x_values()[code]).number; });
    }
    for (const std::uint32_t code : order) {
      places_[code] = static_cast<double>(data.x_categories.size());
      data.x_categories.push_back(label(x_values()[code]));
    }
  }

  void add_lines(PlotData& data, double factor) {
    std::map<Key, std::size_t> places;  // of lines, in data
    const auto line_at = [&](const Key& key) -> PlotLine& {
      Key own(key.begin() + 1, key.end());
      const auto [known, added] = places.try_emplace(std::move(own), data.lines.size());
      if (added) data.lines.push_back({line_name(known->first), {}, {}});
      return data.lines[known->second];
    };
    for (auto& [key, point] : points_) {
      PlotLine& line = line_at(key);
      point.x = x_of(key[0]);
      for (double* value : {&point.y, &point.low, &point.high}) *value *= factor;
      if (point.box) scale(*point.box, factor);
      line.points.push_back(point);
    }
    for (auto& [key, failure] : failures_) {
      PlotLine& line = line_at(key);
      failure.x = x_of(key[0]);
      line.failures.push_back(failure);
    }
  }

  static void scale(SampleBox& box, double factor) {
    for (double* value : {&box.low, &box.q1, &box.median, &box.q3, &box.high}) *value *= factor;
    for (double& value : box.outliers) value *= factor;
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
    const auto is_number = [&](const auto& one) {
      return Cell::of_value(x_values()[one.first[0]]).is_number();
    };
    return std::ranges::all_of(points_, is_number) && std::ranges::all_of(failures_, is_number);
  }

  double x_of(std::uint32_t code) const {
    if (!numeric_x_) return places_.at(code);
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
    if (spec_.y.statistic != Statistic::mean && !is_box())
      text += fmt::format(" ({})", statistic_name(spec_.y.statistic));
    return unit.empty() ? text : text + " [" + unit + "]";
  }

  const Records& records_;
  const PlotSpec& spec_;
  std::vector<std::size_t> axes_;
  bool numeric_x_ = true;
  std::string unit_;
  std::vector<std::pair<Key, PlotPoint>> points_;
  std::vector<std::pair<Key, PlotFailure>> failures_;
  std::map<std::uint32_t, double> places_;  // of categories, by code
};

// Reasons below the picture, a line for each word and reason: "**OOM** (naive at seq_len 65536)".
List reasons_of(const PlotData& data) {
  struct Cause {
    std::string word, reason;
    bool alike = false;  // also stands for reasons with other numbers
    std::map<std::string, std::vector<std::string>> lines_by_x;

    // "naive, flash at seq_len 256; seq_len 512".
    std::string places() const {
      std::vector<std::string> texts;
      for (const auto& [x, lines] : lines_by_x) {
        const std::string names = join(lines, ", ");
        texts.push_back(names.empty() ? x : names + " at " + x);
      }
      return join(texts, "; ");
    }
  };
  std::vector<Cause> causes;
  for (const PlotLine& line : data.lines) {
    for (const PlotFailure& failure : line.failures) {
      auto at = std::ranges::find_if(causes, [&](const Cause& known) {
        return known.word == failure.word &&
               without_numbers(known.reason) == without_numbers(failure.reason);
      });
      if (at == causes.end()) at = causes.insert(at, {failure.word, failure.reason, false, {}});
      at->alike = at->alike || at->reason != failure.reason;
      const std::string x = data.x_categories.empty()
                                ? data.x_label + " " + number_text(failure.x)
                                : data.x_categories[static_cast<std::size_t>(failure.x)];
      at->lines_by_x[x].push_back(line.name);
    }
  }
  List list;
  for (const Cause& cause : causes) {
    list.items.push_back(
        fmt::format("**{}** ({}): {}{}", cause.word, escape_cell(cause.places()),
                    cause.alike ? "for example, " : "",
                    cause.reason.empty() ? "no reason was given" : escape_cell(cause.reason)));
  }
  return list;
}

std::set<std::string> marks_of_points(const PlotData& data) {
  std::set<std::string> marks;
  for (const PlotLine& line : data.lines) {
    for (const PlotPoint& point : line.points) {
      marks.insert(point.marks.begin(), point.marks.end());
    }
  }
  return marks;
}

constexpr std::size_t most_lines = 100;

void add_picture(const PlotData& data, const SideFiles& folder, int& number,
                 std::vector<Section>& sections) {
  const std::string alternative =
      data.title.empty() ? data.y_label + " over " + data.x_label : data.title;
  Section made =
      picture(folder, fmt::format("plot-{}", ++number), alternative, plot_csv(data),
              [&](const std::filesystem::path& svg) { return gnuplot_script(data, svg); });
  if (auto* drawn = std::get_if<Picture>(&made)) drawn->marks = marks_of_points(data);
  sections.push_back(std::move(made));
  if (List reasons = reasons_of(data); !reasons.items.empty()) {
    sections.push_back(std::move(reasons));
  }
}

}  // namespace

Result<std::vector<Section>> plot_sections(const Records& records, const PlotSpec& spec,
                                           const SideFiles& folder, int& number) {
  auto repeats = combinations(records, spec.for_each, spec.where, spec.y.metric);
  if (!repeats) return tl::unexpected(repeats.error());
  std::vector<Section> sections;
  for (const Filter& combination : *repeats) {
    auto data = spec.kind == PlotSpec::Kind::roofline
                    ? roofline_data(records, spec, combination)
                    : PlotBuilder(records, spec).build(combination);
    if (!data) return tl::unexpected(data.error());
    const bool any =
        std::ranges::any_of(data->lines, [](const PlotLine& line) { return !line.points.empty(); });
    if (!any) {
      sections.push_back(Paragraph{"No result matches this plot."});
      List reasons = reasons_of(*data);
      if (!reasons.items.empty()) sections.push_back(std::move(reasons));
      continue;
    }
    if (data->lines.size() > most_lines) {
      sections.push_back(Paragraph{fmt::format(
          "No plot: it would have {} lines, of which at most {} can be told apart; `where` chooses "
          "some, `for_each` gives each value a plot.",
          data->lines.size(), most_lines)});
      continue;
    }
    data->title = picture_title(spec.title, combination);
    add_picture(*data, folder, number, sections);
  }
  return sections;
}

}  // namespace assay::report
