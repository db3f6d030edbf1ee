#include <fmt/format.h>

#include <algorithm>

#include "report/read/read_blocks.h"
#include "report/read/read_columns.h"
#include "report/read/shapes.h"
#include "report/spec/units.h"

namespace assay::report {
namespace {

using yaml::Node;

template <class Spec>
Keys<Spec> of_picture() {
  return Keys<Spec>{{"where", "Selects results: values by axis, or conditions.", &Spec::where}} +
         repeated<Spec>("Axes with a picture per combination of values.");
}

// True: the metric holds words, which `picture` cannot draw.
bool refuse_words(Reader& reader, const Node& at, const std::string& metric,
                  std::string_view picture) {
  if (!reader.known().is_text(metric)) return false;
  reader.complain(at, fmt::format("{} holds words: {} draws numbers", metric, picture),
                  "a table shows it");
  return true;
}

void read_y(Reader& reader, const Node& node, PlotSpec& plot) {
  ColumnDraft y;
  y.column.name = "y";
  y.column.where = plot.at;
  read_figure(reader, node, figure_keys(), y, false);
  refuse_words(reader, node, y.measure.metric, "a plot");
  plot.y = std::move(y.measure);
}

auto part_name() {
  return yaml::Shape{shape::text(), [](Reader& reader, const Node& node) {
                       std::string part = reader.text(node, "part");
                       reader.check_value(node, "part", part);
                       return part;
                     }};
}

auto lane_name() {
  return yaml::Shape{shape::text(), [](Reader& reader, const Node& node) {
                       std::string lane = reader.text(node, "lane");
                       const auto& known = reader.known().lanes;
                       if (std::ranges::find(known, lane) == known.end()) {
                         reader.check_value(node, "part", lane);
                       }
                       return lane;
                     }};
}

auto part_names() { return shape::list_of_values(part_name()); }

// The metrics share an axis of the picture and its unit.
void read_values(Reader& reader, const Node& node, TimelineSpec& timeline) {
  const MetricInfo* first = nullptr;
  for (const Node& item : node.one_or_more()) {
    const MetricInfo* metric = reader.metric(item);
    if (!metric || refuse_words(reader, item, metric->name, "a timeline")) continue;
    if (!first) first = metric;
    timeline.values.push_back(metric->name);
    if (!same_dimension(metric->unit, first->unit)) {
      reader.complain(item,
                      fmt::format("this timeline mixes {} of {} and {} of {}", first->unit,
                                  first->name, metric->unit, metric->name),
                      "give each a timeline of its own");
    }
  }
}

const Keys<OverlapSpec>& overlap_keys() {
  static const Keys<OverlapSpec> keys = {
      {"of", "The part or lane whose time is 100 %.", lane_name(), &OverlapSpec::of},
      {"with", "The part or lane that it overlaps.", lane_name(), &OverlapSpec::with}};
  return keys;
}

void read_overlap(Reader& reader, const Node& node, TimelineSpec& timeline) {
  OverlapSpec& overlap = timeline.overlap.emplace();
  reader.entries(node, "overlap", overlap_keys(), overlap);
  if (overlap.of.empty() || overlap.with.empty()) {
    reader.complain(node, "an overlap needs `of` and `with`, a part each",
                    "overlap: {of: communication, with: compute}");
  }
}

void check_unit_of_metric(Reader& reader, const Node& node, const std::string& unit,
                          const std::string& name) {
  const MetricInfo* metric = reader.known().metric(name);
  if (unit.empty() || !metric || same_dimension(unit, metric->unit)) return;
  if (!reader.known().has_unit(unit)) return;  // reported already
  reader.complain(*node.find("unit"), fmt::format("{} is measured in {}, which '{}' cannot show",
                                                  metric->name, metric->unit, unit));
}

void read_shares(Reader& reader, const Node& node, FlameSpec& flame) {
  for (const Node& item : node.one_or_more()) {
    flame.shares.emplace_back(reader.text(item, "shares"), item.where);
  }
}

}  // namespace

const Keys<PlotSpec>& plot_keys() {
  static const Keys<PlotSpec> keys =
      Keys<PlotSpec>{{"x", "The axis along the bottom.", shape::axis(), &PlotSpec::x},
                     {"x_unit", "The unit of `x`.", shape::unit(), &PlotSpec::x_unit},
                     {"y", "The figure.", shape::refer("figure"), read_y},
                     {"series", "Axes with a line per combination of values.", &PlotSpec::series},
                     {"labels", "Shown texts by value.", &PlotSpec::labels},
                     {"kind",
                      "`line`, `bars`, a `box` of raw samples, or a `roofline` of a rate of "
                      "`flops`; by default "
                      "bars over names and a line over numbers.",
                      shape::choice("kind of plot", {"line", "bars", "box", "roofline"}),
                      [](PlotSpec& plot, const std::string& word) {
                        plot.kind = word == "bars"       ? PlotSpec::Kind::bars
                                    : word == "box"      ? PlotSpec::Kind::box
                                    : word == "roofline" ? PlotSpec::Kind::roofline
                                                         : PlotSpec::Kind::line;
                      }},
                     {"scale", "Linear (default) or logarithmic axes.",
                      shape::choice("scale", {"linear", "log-log", "log-x", "log-y"}),
                      [](PlotSpec& plot, const std::string& word) {
                        plot.log_x = word == "log-log" || word == "log-x";
                        plot.log_y = word == "log-log" || word == "log-y";
                      }},
                     {"bars",
                      "What error bars show; by default the interval of a median, and the standard "
                      "deviation around "
                      "a mean, or else its interval.",
                      shape::choice("error bars", {"none", "std", "interval"}),
                      [](PlotSpec& plot, const std::string& word) {
                        plot.bars = word == "none"       ? PlotSpec::Bars::none
                                    : word == "interval" ? PlotSpec::Bars::interval
                                                         : PlotSpec::Bars::std;
                      }},
                     {"y_title", "The label of the vertical axis; by default the figure's.",
                      &PlotSpec::y_title}} +
      of_picture<PlotSpec>();
  return keys;
}

namespace {

void check_roofline(Reader& reader, const Node& node, const PlotSpec& plot) {
  reader.note_ceilings();
  const bool of_flops =
      plot.y.rate && plot.y.rate->count == "flops" && plot.y.rate->share_of.empty();
  const Node* y = node.find("y");
  if (y && !of_flops) {
    reader.complain(*y, "a roofline shows a rate of flops", "y: {rate: flops, pass: forward}");
  }
  if (const Node* scale = node.find("scale")) {
    reader.complain(*scale, "a roofline has logarithmic axes", "leave `scale` out");
  }
}

// A bar around another figure than its point could lie beside it.
void check_bars(Reader& reader, const Node& node, const PlotSpec& plot) {
  const Node* bars = node.find("bars");
  if (!bars || plot.bars == PlotSpec::Bars::none || !plot.y.names_statistic) return;
  const auto centre = centre_of(plot.y.statistic);
  if (centre == Centre::mean || (centre && plot.bars == PlotSpec::Bars::interval)) return;
  reader.complain(
      *bars,
      fmt::format("bars of {} do not belong to a {}", bars->text, statistic_name(plot.y.statistic)),
      centre ? "`interval` does; `std` belongs to a mean"
             : "leave `bars` out, or show a mean or a median");
}

}  // namespace

PlotSpec read_plot(Reader& reader, const Node& node) {
  PlotSpec plot;
  plot.at = node.where;
  if (!reader.entries(node, "plot", plot_keys(), plot)) return plot;
  const bool roofline = plot.kind == PlotSpec::Kind::roofline;
  for (const char* key : {"x", "y"}) {
    if (!node.find(key) && !(roofline && std::string_view(key) == "x")) {
      reader.complain(node, fmt::format("a plot needs `{}`", key));
    }
  }
  if (roofline) check_roofline(reader, node, plot);
  check_bars(reader, node, plot);
  check_title(reader, plot.title, plot.for_each);
  return plot;
}

const Keys<TimelineSpec>& timeline_keys() {
  static const Keys<TimelineSpec> keys =
      Keys<TimelineSpec>{
          {"values", "Metrics of one quantity over time.", shape::one_or_list(shape::text()),
           read_values},
          {"unit", "The unit of `values`; by default chosen by magnitude.", shape::unit(),
           &TimelineSpec::unit},
          {"lanes", "Parts, or lanes of spans, with a row each.",
           shape::list_of_values(lane_name()), &TimelineSpec::lanes},
          {"phases", "Parts marked in the background.", part_names(), &TimelineSpec::phases},
          {"overlap", "The share of one part's time within another's, by rank.",
           yaml::object_schema(overlap_keys()), read_overlap},
          {"labels", "Shown texts by metric or part.", &TimelineSpec::labels}} +
      of_picture<TimelineSpec>();
  return keys;
}

TimelineSpec read_timeline(Reader& reader, const Node& node) {
  TimelineSpec timeline;
  timeline.at = node.where;
  if (!reader.entries(node, "timeline", timeline_keys(), timeline)) return timeline;
  const bool lanes = node.find("lanes") != nullptr;
  if ((node.find("values") != nullptr) == lanes) {
    reader.complain(node, "a timeline shows either `values` or `lanes`",
                    "values: metrics over time; lanes: parts with their spans");
  }
  if (node.find("unit") && lanes) {
    reader.complain(*node.find("unit"), "`unit` belongs to `values`; lanes have none",
                    "the unit of the times is chosen for the picture");
  } else if (!timeline.values.empty()) {
    check_unit_of_metric(reader, node, timeline.unit, timeline.values.front());
  }
  if (timeline.overlap && !lanes) {
    reader.complain(*node.find("overlap"), "`overlap` belongs to `lanes`",
                    "lanes: [compute, communication]");
  }
  check_title(reader, timeline.title, timeline.for_each);
  return timeline;
}

const Keys<FlameSpec>& flame_keys() {
  static const Keys<FlameSpec> keys =
      Keys<FlameSpec>{
          {"metric", "The metric of the widths; by default `time`.",
           shape::of_type<const MetricInfo*>(),
           [](FlameSpec& flame, const MetricInfo* metric) {
             if (metric) flame.metric = metric->name;
           }},
          {"unit", "Shown unit; by default chosen by magnitude.", shape::unit(), &FlameSpec::unit},
          {"shares", "Frames to list in a table with their shares.",
           shape::one_or_list(shape::text()), read_shares}} +
      of_picture<FlameSpec>();
  return keys;
}

FlameSpec read_flame(Reader& reader, const Node& node) {
  FlameSpec flame;
  flame.at = node.where;
  if (!reader.entries(node, "flame", flame_keys(), flame)) return flame;
  refuse_words(reader, node, flame.metric, "a flame graph");
  check_unit_of_metric(reader, node, flame.unit, flame.metric);
  check_title(reader, flame.title, flame.for_each);
  return flame;
}

}  // namespace assay::report
