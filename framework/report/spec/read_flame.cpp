#include <fmt/format.h>

#include "report/spec/read_blocks.h"
#include "report/spec/read_columns.h"
#include "report/spec/units.h"

namespace assay::report {
namespace {

using yaml::Node;

void check_unit(Reader& reader, const Node& node, const FlameSpec& flame) {
  const MetricInfo* metric = reader.known().metric(flame.metric);
  if (flame.unit.empty() || !metric || same_dimension(flame.unit, metric->unit)) return;
  if (!unit_exists(reader.known(), flame.unit)) return;  // said already
  reader.complain(*node.find("unit"), fmt::format("{} is measured in {}, which '{}' cannot show",
                                                  metric->name, metric->unit, flame.unit));
}

}  // namespace

FlameSpec read_flame(Reader& reader, const Node& node) {
  FlameSpec flame;
  flame.at = node.where;
  const auto add_share = [&](const Node& item) {
    flame.shares.push_back({reader.text(item, "shares"), item.where});
  };
  const auto read_shares = [&](const Node& value) {
    if (!value.is_sequence()) return add_share(value);
    for (const Node& item : value.items) add_share(item);
  };
  const bool read = reader.entries(
      node, "flame",
      {{"metric",
        [&](const Node& value) {
          if (const MetricInfo* metric = reader.metric(value)) flame.metric = metric->name;
        }},
       {"unit", [&](const Node& value) { flame.unit = read_unit(reader, value); }},
       {"shares", read_shares},
       {"where", [&](const Node& value) { flame.where.add(reader.filter(value)); }},
       {"title", [&](const Node& value) { flame.title = reader.text_template(value, "title"); }},
       {"for_each", [&](const Node& value) { flame.for_each = reader.axes(value); }}});
  if (!read) return flame;
  check_unit(reader, node, flame);
  check_title(reader, flame.title, flame.for_each);
  return flame;
}

}  // namespace assay::report
