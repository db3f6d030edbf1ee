#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "report/picture/gnuplot.h"
#include "report/picture/timeline.h"

namespace assay::report {
namespace {

constexpr int timeline_width = 880, lines_height = 520;
constexpr int lane_height = 44, around_lanes = 170;
constexpr double half_bar = 0.36;
constexpr double narrowest_named = 0.04;  // of the picture, for the name of a phase
constexpr const char* overlapped_colour = "#444444";

double end_of(const TimelineData& data) {
  double end = 0;
  for (const TimelineLine& line : data.lines) {
    if (!line.times.empty()) end = std::max(end, line.times.back());
  }
  for (const TimelineLane& lane : data.lanes) {
    for (const Span& span : lane.spans) end = std::max(end, span.end);
  }
  for (const TimelinePhase& phase : data.phases) end = std::max(end, phase.span.end);
  return end;
}

// Bands in two alternating greys behind everything, named above the picture.
std::string phases_of(const TimelineData& data, double end) {
  std::string script;
  bool darker = false;
  for (const TimelinePhase& phase : data.phases) {
    const auto [start, stop] = phase.span;
    script += fmt::format(
        "set object rectangle from {:.9g}, graph 0 to {:.9g}, graph 1 behind fc rgb '{}' fs solid "
        "noborder\n",
        start, stop, darker ? "#DEDEDE" : "#F0F0F0");
    if (stop - start >= narrowest_named * end) {
      script += fmt::format("set label {} at {:.9g}, graph 1.03 center font ',12'\n",
                            quoted(phase.name), (start + stop) / 2);
    }
    darker = !darker;
  }
  return script;
}

std::string bars(const std::vector<Span>& spans, std::size_t lane) {
  const double y = -static_cast<double>(lane);
  std::string rows;
  for (const Span& span : spans) {
    rows += fmt::format("{:.9g} {} {:.9g} {:.9g} {:.9g} {:.9g}\n", span.start, y, span.start,
                        span.end, y - half_bar, y + half_bar);
  }
  return rows;
}

// One data block for each colour: the bars of each legend, then the overlapped ones.
std::string lanes_of(const TimelineData& data) {
  std::vector<std::string> legends, blocks, ticks;
  std::string overlapped;
  for (std::size_t i = 0; i < data.lanes.size(); ++i) {
    const TimelineLane& lane = data.lanes[i];
    ticks.push_back(fmt::format("{} {}", tick_label(lane.name), -static_cast<double>(i)));
    const auto known = std::find(legends.begin(), legends.end(), lane.legend);
    const auto at = static_cast<std::size_t>(known - legends.begin());
    if (known == legends.end()) {
      legends.push_back(lane.legend);
      blocks.emplace_back();
    }
    blocks[at] += bars(lane.spans, i);
    overlapped += bars(lane.overlapped, i);
  }
  std::string script = fmt::format("set ytics ({})\nset yrange [{}:0.6]\n", join(ticks, ", "),
                                   0.4 - static_cast<double>(data.lanes.size()));
  std::vector<std::string> plots;
  const auto add = [&](const std::string& rows, const std::string& title, const char* colour,
                       double density) {
    if (rows.empty()) return;
    script += fmt::format("$bars{} << EOD\n{}EOD\n", plots.size(), rows);
    plots.push_back(fmt::format(
        "$bars{} using 1:2:3:4:5:6 with boxxyerror fs solid {} noborder lc rgb '{}' title {}",
        plots.size(), density, colour, quoted(title)));
  };
  for (std::size_t i = 0; i < legends.size(); ++i) {
    add(blocks[i], legends[i], colours[i % colours.size()], 0.8);
  }
  add(overlapped, data.overlapped_legend, overlapped_colour, 1);
  return script + "plot " + join(plots, ", \\\n     ") + "\n";
}

std::string lines_of(const TimelineData& data) {
  const bool from_zero =
      std::all_of(data.lines.begin(), data.lines.end(), [](const TimelineLine& line) {
        return std::all_of(line.values.begin(), line.values.end(),
                           [](double value) { return value >= 0; });
      });
  std::string script = from_zero ? "set yrange [0:*]\n" : "";
  script += "set offsets 0, 0, graph 0.05, 0\nset format y '%g'\n";
  std::vector<std::string> plots;
  for (std::size_t i = 0; i < data.lines.size(); ++i) {
    const TimelineLine& line = data.lines[i];
    script += fmt::format("$line{} << EOD\n", i);
    for (std::size_t j = 0; j < line.times.size(); ++j) {
      script += fmt::format("{:.9g} {:.9g}\n", line.times[j], line.values[j]);
    }
    script += "EOD\n";
    plots.push_back(fmt::format("$line{} using 1:2 with steps lw 2{} lc rgb '{}' title {}", i,
                                i < colours.size() ? "" : " dt 2", colours[i % colours.size()],
                                quoted(line.name)));
  }
  return script + "plot " + join(plots, ", \\\n     ") + "\n";
}

}  // namespace

std::string timeline_script(const TimelineData& data, const std::filesystem::path& svg) {
  const int height = data.lanes.empty()
                         ? lines_height
                         : around_lanes + lane_height * static_cast<int>(data.lanes.size());
  const double end = end_of(data);
  std::string script = script_opening(svg, timeline_width, height);
  if (!data.title.empty()) {
    script += "set title " + quoted(data.title) + (data.phases.empty() ? "\n" : " offset 0,1\n");
  }
  script += "set xlabel " + quoted(data.x_label) + "\n";
  if (!data.y_label.empty()) script += "set ylabel " + quoted(data.y_label) + "\n";
  script += data.lanes.empty() ? "set key outside right top vertical Left reverse\n"
                               : "set key bmargin center horizontal Left reverse\n";
  if (end > 0) script += fmt::format("set xrange [0:{:.9g}]\n", end);
  script += phases_of(data, end);
  return script + (data.lanes.empty() ? lines_of(data) : lanes_of(data));
}

}  // namespace assay::report
