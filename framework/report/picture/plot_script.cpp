#include "report/picture/plot_script.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "base/text.h"
#include "report/picture/gnuplot.h"
#include "report/spec/numbers.h"

namespace assay::report {
namespace {

constexpr std::array point_types{7, 5, 9, 11, 13, 6, 4, 8};
constexpr std::size_t most_ticks = 12;
constexpr std::size_t most_label_characters = 56;
constexpr double place_width = 0.6;

bool drawable(const PlotData& data, const PlotPoint& point) {
  return std::isfinite(point.x) && std::isfinite(point.y) && (!data.log_x || point.x > 0) &&
         (!data.log_y || point.y > 0);
}

// A log axis gets some room: gnuplot alone would extend it to whole powers of ten.
struct Extent {
  double low = std::numeric_limits<double>::infinity();
  double high = 0;

  void take_in(double value) {
    if (!std::isfinite(value)) return;
    if (value > 0) low = std::min(low, value);
    high = std::max(high, value);
  }
  std::string range(bool log) const {
    constexpr double room = 1.25;
    if (!(high > 0)) return log ? "[*:*]" : "[0:*]";
    return log ? fmt::format("[{:.6g}:{:.6g}]", low / room, high * room)
               : fmt::format("[0:{:.6g}]", high * 1.05);
  }
};

// A log axis of less than two decades has ticks at 1, 2 and 5.
std::string log_ticks(const Extent& extent) {
  constexpr double two_decades = 100;
  if (!(extent.high > 0) || extent.high / extent.low >= two_decades) return "";
  std::vector<std::string> ticks;
  const int first = static_cast<int>(std::floor(std::log10(extent.low))) - 1;
  const int last = static_cast<int>(std::ceil(std::log10(extent.high)));
  for (int power = first; power <= last; ++power) {
    for (const int digit : {1, 2, 5}) ticks.push_back(fmt::format("{}e{}", digit, power));
  }
  return fmt::format("set ytics ({})\n", join(ticks, ", "));
}

Extent extent_of(const PlotData& data, bool x) {
  Extent extent;
  for (const PlotLine& line : data.lines) {
    for (const PlotPoint& point : line.points) {
      if (!drawable(data, point)) continue;
      if (x) {
        extent.take_in(point.x);
      } else if (point.box) {
        for (const double value : {point.box->low, point.box->high}) extent.take_in(value);
        for (const double value : point.box->outliers) extent.take_in(value);
      } else {
        for (const double value : {point.low, point.y, point.high}) extent.take_in(value);
      }
    }
    for (const PlotFailure& failure : line.failures) {
      if (x) extent.take_in(failure.x);
    }
  }
  for (const Roof& roof : data.roofs) {  // with room on either side of its corner
    constexpr double room = 4;
    const double corner = x ? roof.level / roof.slope : roof.level;
    extent.take_in(corner * (x ? room : 1));
    extent.take_in(corner / room);
  }
  return extent;
}

// On a log axis a bar that reaches zero ends below the picture.
double bar_end(const PlotData& data, const PlotPoint& point) {
  constexpr double out_of_the_picture = 1e-9;
  return data.log_y && point.low <= 0 ? point.y * out_of_the_picture : point.low;
}

std::string ticks_of(const std::vector<std::pair<std::string, double>>& labels) {
  std::vector<std::string> ticks;
  std::size_t characters = 0;
  for (const auto& [label, at] : labels) {
    ticks.push_back(fmt::format("{} {:.15g}", tick_label(label), at));
    characters += display_width(label) + 2;
  }
  return fmt::format("set xtics {}({})\n",
                     characters > most_label_characters ? "rotate by -40 " : "", join(ticks, ", "));
}

std::string x_ticks(const PlotData& data) {
  std::vector<std::pair<std::string, double>> labels;
  if (!data.x_categories.empty()) {
    for (const std::string& name : data.x_categories) {
      labels.emplace_back(name, static_cast<double>(labels.size()));
    }
    return ticks_of(labels) + fmt::format("set xrange [-0.5:{}.5]\n", labels.size() - 1);
  }
  std::set<double> values;
  for (const PlotLine& line : data.lines) {
    for (const PlotPoint& point : line.points) values.insert(point.x);
    for (const PlotFailure& failure : line.failures) values.insert(failure.x);
  }
  if (values.empty() || values.size() > most_ticks) return "";
  for (const double value : values) labels.emplace_back(number_text(value), value);
  return ticks_of(labels);
}

// Lines of a category stand side by side.
double beside(const PlotData& data, std::size_t line) {
  if (data.x_categories.empty()) return 0;
  const auto lines = static_cast<double>(data.lines.size());
  return place_width * ((static_cast<double>(line) + 0.5) / lines - 0.5);
}

std::string colour_of(std::size_t line) { return colours[line % colours.size()]; }

std::string style_of(std::size_t line, const std::string& title) {
  return fmt::format("lw 2{} lc rgb '{}' pt {} ps 0.7 {}", line < colours.size() ? "" : " dt 2",
                     colour_of(line), point_types[line % point_types.size()], title);
}

// Failures of one x stand above each other, a symbol and the word for each line.
std::string failure_labels(const PlotData& data) {
  constexpr double lowest = 0.025, step = 0.05;  // of the picture's height
  std::map<double, int> above;
  std::string script;
  for (std::size_t i = 0; i < data.lines.size(); ++i) {
    for (const PlotFailure& failure : data.lines[i].failures) {
      if (data.log_x && !(failure.x > 0)) continue;
      const double x = failure.x + beside(data, i);
      script += fmt::format(
          "set label {} at first {:.15g}, graph {:.3f} right point pt 2 ps 1.1 lw 2.5 lc rgb '{}' "
          "textcolor rgb '{}' font ',12' offset -0.8,0\n",
          quoted(failure.word), x, lowest + step * above[x]++, colour_of(i), colour_of(i));
    }
  }
  return script;
}

// Where 0 is the bottom of the picture and 1 its top.
double height_of(const PlotData& data, const Extent& extent, double y) {
  if (!data.log_y) return y / (extent.high * 1.05);
  const double low = std::log(extent.low / 1.25), high = std::log(extent.high * 1.25);
  return (std::log(y) - low) / (high - low);
}

// The last points of the lines, if their names fit beside each other at the right edge.
std::optional<std::vector<PlotPoint>> ends_for_names(const PlotData& data) {
  constexpr std::size_t most_names = 6;
  constexpr double least_distance = 0.05;
  if (data.form != PlotForm::lines || !data.x_categories.empty()) return std::nullopt;
  if (data.lines.size() < 2 || data.lines.size() > most_names) return std::nullopt;
  const Extent of_x = extent_of(data, true), of_y = extent_of(data, false);
  std::vector<PlotPoint> ends;
  std::vector<double> heights;
  for (const PlotLine& line : data.lines) {
    if (line.points.empty() || !drawable(data, line.points.back())) return std::nullopt;
    ends.push_back(line.points.back());
    if (ends.back().x < of_x.high) return std::nullopt;
    heights.push_back(height_of(data, of_y, ends.back().y));
  }
  std::ranges::sort(heights);
  for (std::size_t i = 1; i < heights.size(); ++i) {
    if (heights[i] - heights[i - 1] < least_distance) return std::nullopt;
  }
  return ends;
}

std::string names_at_ends(const PlotData& data, const std::vector<PlotPoint>& ends) {
  std::string script;
  std::size_t widest = 0;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    widest = std::max(widest, display_width(data.lines[i].name));
    script += fmt::format(
        "set label {} at first {:.15g}, first {:.15g} left offset 1,0 textcolor "
        "rgb '{}'\n",
        quoted(data.lines[i].name), ends[i].x, ends[i].y, colour_of(i));
  }
  return script + fmt::format("set rmargin {}\n", widest + 2);
}

bool is_ringed(const PlotData& data) {
  return std::ranges::any_of(data.lines, [](const PlotLine& line) {
    return std::ranges::any_of(line.points, [](const auto& point) { return !point.marks.empty(); });
  });
}

// Every marked point in a ring that the legend explains. "" without marks.
std::string rings(const PlotData& data, std::string& script) {
  if (!is_ringed(data)) return "";
  std::set<std::string> marks;
  script += "$marked << EOD\n";
  for (std::size_t i = 0; i < data.lines.size(); ++i) {
    for (const PlotPoint& point : data.lines[i].points) {
      if (point.marks.empty() || !drawable(data, point)) continue;
      marks.insert(point.marks.begin(), point.marks.end());
      script += fmt::format("{:.15g} {:.15g}\n", point.x + beside(data, i), point.y);
    }
  }
  script += "EOD\n";
  return fmt::format("$marked using 1:2 with points pt 6 ps 1.7 lw 1.5 lc rgb '#000000' title {}",
                     quoted("† " + join({marks.begin(), marks.end()}, " or ")));
}

std::string data_of_line(const PlotData& data, std::size_t line, bool& bars) {
  std::string text = fmt::format("$line{} << EOD\n", line);
  for (const PlotPoint& point : data.lines[line].points) {
    if (!drawable(data, point)) continue;
    bars = bars || point.high > point.low;
    text += fmt::format("{:.15g} {:.15g} {:.15g} {:.15g}\n", point.x + beside(data, line), point.y,
                        bar_end(data, point), point.high);
  }
  return text + "EOD\n";
}

std::string boxes_of_line(const PlotData& data, std::size_t line) {
  std::string text = fmt::format("$line{} << EOD\n", line);
  std::string outliers = fmt::format("$outliers{} << EOD\n", line);
  for (const PlotPoint& point : data.lines[line].points) {
    if (!point.box) continue;
    const double x = point.x + beside(data, line);
    text += fmt::format("{:.15g} {:.15g} {:.15g} {:.15g} {:.15g} {:.15g}\n", x, point.box->q1,
                        point.box->low, point.box->high, point.box->q3, point.box->median);
    for (const double value : point.box->outliers) {
      outliers += fmt::format("{:.15g} {:.15g}\n", x, value);
    }
  }
  return text + "EOD\n" + outliers + "EOD\n";
}

double width_of_bars(const PlotData& data) {
  return place_width / static_cast<double>(std::max<std::size_t>(data.lines.size(), 1)) * 0.9;
}

// A box from quartile to quartile with its median, whiskers and outliers.
void plot_boxes(const PlotData& data, std::size_t line, const std::string& title,
                std::string& script, std::vector<std::string>& plots) {
  script += boxes_of_line(data, line);
  const double width = width_of_bars(data);
  const std::string colour = colour_of(line);
  plots.push_back(
      fmt::format("$line{} using 1:2:3:4:5:({:.4g}) with candlesticks whiskerbars 0.5 "
                  "lw 1.5 lc rgb '{}' fc rgb '{}' fs solid 0.25 border lc rgb '{}' {}",
                  line, width, colour, colour, colour, title));
  plots.push_back(
      fmt::format("$line{} using 1:6:6:6:6:({:.4g}) with candlesticks lw 2.5 lc rgb "
                  "'{}' fs empty border lc rgb '{}' notitle",
                  line, width, colour, colour));
  const bool outliers = std::ranges::any_of(data.lines[line].points, [](const PlotPoint& point) {
    return point.box && !point.box->outliers.empty();
  });
  if (!outliers) return;
  plots.push_back(fmt::format("$outliers{} using 1:2 with points pt 6 ps 0.4 lc rgb '{}' notitle",
                              line, colour_of(line)));
}

void plot_line(const PlotData& data, std::size_t line, const std::string& title,
               std::string& script, std::vector<std::string>& plots) {
  if (data.form == PlotForm::boxes) return plot_boxes(data, line, title, script, plots);
  bool bars = false;
  script += data_of_line(data, line, bars);
  if (data.form == PlotForm::bars) {
    const double width = width_of_bars(data);
    plots.push_back(fmt::format(
        "$line{} using {} with {} lw 1.5 lc rgb '#333333' fc rgb '{}' fs solid 0.75 border lc rgb "
        "'#333333' {}",
        line, bars ? fmt::format("1:2:3:4:({:.4g})", width) : fmt::format("1:2:({:.4g})", width),
        bars ? "boxerrorbars" : "boxes", colour_of(line), title));
    return;
  }
  // Categories have no order: their points are not connected.
  const bool apart = !data.x_categories.empty() || data.form == PlotForm::points;
  const std::string_view with =
      apart ? (bars ? "yerrorbars" : "points") : (bars ? "yerrorlines" : "linespoints");
  plots.push_back(fmt::format("$line{} using {} with {} {}", line, bars ? "1:2:3:4" : "1:2", with,
                              style_of(line, title)));
}

// Each roof from the left edge to its corner and on to the right edge, under its name.
void plot_roofs(const PlotData& data, const Extent& of_x, std::string& script,
                std::vector<std::string>& plots) {
  constexpr double beyond = 2;  // the edges
  for (std::size_t i = 0; i < data.roofs.size(); ++i) {
    const Roof& roof = data.roofs[i];
    const double corner = roof.level / roof.slope;
    const double left = of_x.low / beyond, right = std::max(of_x.high, corner) * beyond;
    script +=
        fmt::format("$roof{} << EOD\n{:.15g} {:.15g}\n{:.15g} {:.15g}\n{:.15g} {:.15g}\nEOD\n", i,
                    left, left * roof.slope, corner, roof.level, right, roof.level);
    plots.push_back(fmt::format("$roof{} using 1:2 with lines lw 2 dt {} lc rgb '#333333' title {}",
                                i, i + 1, quoted(roof.name)));
  }
}

bool any_name(const PlotData& data) {
  return std::ranges::any_of(data.lines, [](const PlotLine& line) { return !line.name.empty(); });
}

// Inside where a corner is free: under the roofs, or beside named lines.
std::string place_of_key(const PlotData& data, bool named_lines) {
  if (!data.roofs.empty()) return "set key bottom right Left reverse\n";
  return named_lines ? "set key top left Left reverse\n"
                     : "set key outside right top vertical Left reverse\n";
}

// Of samples that lie close together the room they take; else from 0.
std::string range_of_boxes(const Extent& extent) {
  constexpr double close = 0.5, room = 0.1;
  if (extent.low < close * extent.high) return extent.range(false);
  const double margin = std::max(room * (extent.high - extent.low), 0.001 * extent.high);
  return fmt::format("[{:.6g}:{:.6g}]", extent.low - margin, extent.high + margin);
}

// Ranges, ticks and scales.
std::string axes_script(const PlotData& data) {
  std::string script;
  const Extent of_x = extent_of(data, true), of_y = extent_of(data, false);
  const bool failures =
      std::ranges::any_of(data.lines, [](const PlotLine& line) { return !line.failures.empty(); });
  if (data.log_x) {
    script += "set logscale x\nset xrange " + of_x.range(true) + "\n";
  } else if (failures && data.x_categories.empty()) {
    script += fmt::format("set xrange [*<{:.6g}:{:.6g}<*]\n", of_x.low, of_x.high);
  }
  if (data.log_y) script += "set logscale y\n";
  const bool boxes = data.form == PlotForm::boxes && !data.log_y;
  script += "set yrange " + (boxes ? range_of_boxes(of_y) : of_y.range(data.log_y)) + "\n";
  if (data.log_y) script += log_ticks(of_y);
  return script + (data.roofs.empty() ? x_ticks(data) : "");
}

}  // namespace

std::string gnuplot_script(const PlotData& data, const std::filesystem::path& svg) {
  std::string script = script_opening(svg, 880, 520);
  if (!data.title.empty()) script += "set title " + quoted(data.title) + "\n";
  script += "set xlabel " + quoted(data.x_label) + "\nset ylabel " + quoted(data.y_label) + "\n";
  const auto ends = ends_for_names(data);
  const bool key = (any_name(data) && !ends) || is_ringed(data) || !data.roofs.empty();
  script += key ? place_of_key(data, ends.has_value()) : "set key off\n";
  script += "set offsets graph 0.02, graph 0.02, graph 0.05, 0\nset format y '%g'\n";
  script += axes_script(data) + failure_labels(data);
  if (ends) script += names_at_ends(data, *ends);
  std::vector<std::string> plots;
  plot_roofs(data, extent_of(data, true), script, plots);
  for (std::size_t i = 0; i < data.lines.size(); ++i) {
    const std::string title = ends ? "notitle" : "title " + quoted(data.lines[i].name);
    plot_line(data, i, title, script, plots);
  }
  if (std::string marked = rings(data, script); !marked.empty()) plots.push_back(marked);
  script += "plot " + join(plots, ", \\\n     ") + "\n";
  return script;
}

}  // namespace assay::report
