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
constexpr std::size_t most_drawn_apart = 2000;
constexpr std::size_t most_names = 200;
constexpr int most_named_levels = 2;
constexpr double letter_width = 0.0095;   // of the picture
constexpr double narrowest_named = 0.04;  // of the picture, for the name of a phase
constexpr const char* overlapped_colour = "#444444";

int rows_of(const TimelineData& data) { return data.lanes.empty() ? 0 : data.lanes.back().row + 1; }

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

std::string bars(const std::vector<Span>& spans, int row, double low = -half_bar,
                 double high = half_bar) {
  const double y = -static_cast<double>(row);
  std::string rows;
  for (const Span& span : spans) {
    rows += fmt::format("{:.9g} {} {:.9g} {:.9g} {:.9g} {:.9g}\n", span.start, y, span.start,
                        span.end, y + low, y + high);
  }
  return rows;
}

// The lower and the upper edge of a level's bars, from the middle of their row.
std::pair<double, double> edges_of(int level, int levels) {
  const double height = 2 * half_bar / levels;
  return {half_bar - (level + 1) * height, half_bar - level * height};
}

// Of many spans, those that a reader can tell apart: neighbours less than half a pixel apart are
// one.
std::vector<Span> drawn(std::vector<Span> spans, double end) {
  if (spans.size() <= most_drawn_apart) return spans;
  std::sort(spans.begin(), spans.end(),
            [](const Span& a, const Span& b) { return a.start < b.start; });
  std::vector<Span> result;
  for (const Span& span : spans) {
    const bool near =
        !result.empty() && span.start - result.back().end < end / (2 * timeline_width);
    if (near) {
      result.back().end = std::max(result.back().end, span.end);
    } else {
      result.push_back(span);
    }
  }
  return result;
}

std::string bars_of(const TimelineLane& lane, double end) {
  if (lane.levels.empty()) return bars(drawn(lane.spans, end), lane.row);
  std::vector<std::vector<Span>> by_level(static_cast<std::size_t>(lane.level_count));
  for (std::size_t i = 0; i < lane.spans.size(); ++i) {
    by_level[static_cast<std::size_t>(lane.levels[i])].push_back(lane.spans[i]);
  }
  std::string rows;
  for (int level = 0; level < lane.level_count; ++level) {
    const auto [low, high] = edges_of(level, lane.level_count);
    rows +=
        bars(drawn(std::move(by_level[static_cast<std::size_t>(level)]), end), lane.row, low, high);
  }
  return rows;
}

// The names of parts within those of their spans that are long enough.
std::string names_in_lanes(const TimelineData& data, double end) {
  std::string script;
  std::size_t names = 0;
  for (const TimelineLane& lane : data.lanes) {
    if (lane.part.empty() || lane.level_count > most_named_levels) continue;
    const double needed = static_cast<double>(display_width(lane.part) + 1) * letter_width * end;
    for (std::size_t i = 0; i < lane.spans.size() && names < most_names; ++i) {
      const Span& span = lane.spans[i];
      if (!(span.end - span.start >= needed)) continue;
      const auto [low, high] = edges_of(lane.levels.empty() ? 0 : lane.levels[i], lane.level_count);
      script +=
          fmt::format("set label {} at {:.9g}, {:.9g} center front font ',10'\n", quoted(lane.part),
                      (span.start + span.end) / 2, -lane.row + (low + high) / 2);
      ++names;
    }
  }
  return script;
}

// One data block for each colour: the bars of each legend, then the overlapped ones.
std::string lanes_of(const TimelineData& data, double end) {
  std::vector<std::string> legends, blocks, ticks;
  std::string overlapped;
  for (std::size_t i = 0; i < data.lanes.size(); ++i) {
    const TimelineLane& lane = data.lanes[i];
    if (i == 0 || data.lanes[i - 1].row != lane.row) {
      ticks.push_back(fmt::format("{} {}", tick_label(lane.name), -static_cast<double>(lane.row)));
    }
    const auto known = std::find(legends.begin(), legends.end(), lane.legend);
    const auto at = static_cast<std::size_t>(known - legends.begin());
    if (known == legends.end()) {
      legends.push_back(lane.legend);
      blocks.emplace_back();
    }
    blocks[at] += bars_of(lane, end);
    overlapped += bars(lane.overlapped, lane.row);
  }
  std::string script = fmt::format("set ytics ({})\nset yrange [{}:0.6]\n", join(ticks, ", "),
                                   0.4 - static_cast<double>(rows_of(data)));
  script += names_in_lanes(data, end);
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
  const int height = data.lanes.empty() ? lines_height : around_lanes + lane_height * rows_of(data);
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
  return script + (data.lanes.empty() ? lines_of(data) : lanes_of(data, end));
}

}  // namespace assay::report
