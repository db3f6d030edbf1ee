#include <fmt/format.h>

#include "report/spec/read_blocks.h"
#include "report/spec/read_columns.h"
#include "report/spec/units.h"

namespace assay::report {
namespace {

using yaml::Node;

std::string read_part(Reader& reader, const Node& node, std::string_view what) {
  std::string part = reader.text(node, what);
  reader.value(node, "part", part);
  return part;
}

std::vector<std::string> read_parts(Reader& reader, const Node& node, std::string_view what) {
  std::vector<std::string> parts;
  for (const Node& item : node.is_sequence() ? node.items : std::vector{node}) {
    parts.push_back(read_part(reader, item, what));
  }
  return parts;
}

// All of one quantity: they share the picture's axis, and its unit.
void read_values(Reader& reader, const Node& node, TimelineSpec& timeline) {
  const MetricInfo* first = nullptr;
  for (const Node& item : node.is_sequence() ? node.items : std::vector{node}) {
    const MetricInfo* metric = reader.metric(item);
    if (!metric) continue;
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

void check_unit(Reader& reader, const Node& node, const TimelineSpec& timeline) {
  if (node.find("unit") && node.find("lanes")) {
    reader.complain(*node.find("unit"), "`unit` is of `values`; lanes have none",
                    "the times' unit is chosen for the picture");
    return;
  }
  const MetricInfo* metric =
      timeline.values.empty() ? nullptr : reader.known().metric(timeline.values.front());
  if (timeline.unit.empty() || !metric || same_dimension(timeline.unit, metric->unit)) return;
  if (!unit_exists(reader.known(), timeline.unit)) return;  // said already
  reader.complain(*node.find("unit"), fmt::format("{} is measured in {}, which '{}' cannot show",
                                                  metric->name, metric->unit, timeline.unit));
}

OverlapSpec read_overlap(Reader& reader, const Node& node) {
  OverlapSpec overlap;
  reader.entries(
      node, "overlap",
      {{"of", [&](const Node& value) { overlap.of = read_part(reader, value, "of"); }},
       {"with", [&](const Node& value) { overlap.with = read_part(reader, value, "with"); }}});
  if (overlap.of.empty() || overlap.with.empty()) {
    reader.complain(node, "an overlap needs `of` and `with`, a part each",
                    "overlap: {of: communication, with: compute}");
  }
  return overlap;
}

}  // namespace

TimelineSpec read_timeline(Reader& reader, const Node& node) {
  TimelineSpec timeline;
  timeline.at = node.where;
  const bool read = reader.entries(
      node, "timeline",
      {{"values", [&](const Node& value) { read_values(reader, value, timeline); }},
       {"unit", [&](const Node& value) { timeline.unit = read_unit(reader, value); }},
       {"lanes", [&](const Node& value) { timeline.lanes = read_parts(reader, value, "lanes"); }},
       {"phases",
        [&](const Node& value) { timeline.phases = read_parts(reader, value, "phases"); }},
       {"overlap", [&](const Node& value) { timeline.overlap = read_overlap(reader, value); }},
       {"labels", [&](const Node& value) { timeline.labels = reader.text_map(value, "labels"); }},
       {"where", [&](const Node& value) { timeline.where.add(reader.filter(value)); }},
       {"title", [&](const Node& value) { timeline.title = reader.text_template(value, "title"); }},
       {"for_each", [&](const Node& value) { timeline.for_each = reader.axes(value); }}});
  if (!read) return timeline;
  if ((node.find("values") == nullptr) == (node.find("lanes") == nullptr)) {
    reader.complain(node, "a timeline shows either `values` or `lanes`",
                    "values: metrics over time; lanes: parts with their spans");
  }
  check_unit(reader, node, timeline);
  if (timeline.overlap && !node.find("lanes")) {
    reader.complain(*node.find("overlap"), "an overlap is of `lanes`",
                    "lanes: [compute, communication]");
  }
  check_title(reader, timeline.title, timeline.for_each);
  return timeline;
}

}  // namespace assay::report
