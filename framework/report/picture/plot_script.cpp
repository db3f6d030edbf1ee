#include "report/picture/plot_script.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>

#include "base/text.h"
#include "report/picture/gnuplot.h"

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
      } else {
        for (const double value : {point.low, point.y, point.high}) extent.take_in(value);
      }
    }
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
    ticks.push_back(fmt::format("{} {}", tick_label(label), at));
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
  }
  if (values.empty() || values.size() > most_ticks) return "";
  for (const double value : values) labels.emplace_back(fmt::format("{:.6g}", value), value);
  return ticks_of(labels);
}

}  // namespace

std::string gnuplot_script(const PlotData& data, const std::filesystem::path& svg) {
  std::string script = script_opening(svg, 880, 520);
  if (!data.title.empty()) script += "set title " + quoted(data.title) + "\n";
  script += "set xlabel " + quoted(data.x_label) + "\nset ylabel " + quoted(data.y_label) + "\n";
  const bool any_unverified =
      std::any_of(data.lines.begin(), data.lines.end(), [](const PlotLine& line) {
        return std::any_of(line.points.begin(), line.points.end(),
                           [](const PlotPoint& point) { return point.unverified; });
      });
  script += data.lines.size() > 1 || any_unverified
                ? "set key outside right top vertical Left reverse\n"
                : "set key off\n";
  script += "set offsets graph 0.02, graph 0.02, graph 0.05, 0\nset format y '%g'\n";
  if (data.log_x) {
    script += "set logscale x\nset xrange " + extent_of(data, true).range(true) + "\n";
  }
  if (data.log_y) script += "set logscale y\n";
  const Extent of_y = extent_of(data, false);
  script += "set yrange " + of_y.range(data.log_y) + "\n";
  if (data.log_y) script += log_ticks(of_y);
  script += x_ticks(data);
  std::vector<std::string> plots;
  for (std::size_t i = 0; i < data.lines.size(); ++i) {
    // Categories have no order: their points are not connected, and lines stand side by side.
    const bool places = !data.x_categories.empty();
    const double beside =
        places ? place_width *
                     ((static_cast<double>(i) + 0.5) / static_cast<double>(data.lines.size()) - 0.5)
               : 0;
    script += fmt::format("$line{} << EOD\n", i);
    bool bars = false;
    for (const PlotPoint& point : data.lines[i].points) {
      if (!drawable(data, point)) continue;
      bars = bars || point.high > point.low;
      script += fmt::format("{:.15g} {:.15g} {:.15g} {:.15g}\n", point.x + beside, point.y,
                            bar_end(data, point), point.high);
    }
    script += "EOD\n";
    const std::string style =
        fmt::format("lw 2{} lc rgb '{}' pt {} ps 0.7 title {}", i < colours.size() ? "" : " dt 2",
                    colours[i % colours.size()], point_types[i % point_types.size()],
                    quoted(data.lines[i].name));
    const std::string_view with =
        places ? (bars ? "yerrorbars" : "points") : (bars ? "yerrorlines" : "linespoints");
    plots.push_back(
        fmt::format("$line{} using {} with {} {}", i, bars ? "1:2:3:4" : "1:2", with, style));
  }
  script += "plot " + join(plots, ", \\\n     ") + "\n";
  return script;
}

std::string plot_csv(const PlotData& data) {
  std::string text =
      fmt::format("{},line,{},low,high\n", csv_cell(data.x_label), csv_cell(data.y_label));
  for (const PlotLine& line : data.lines) {
    for (const PlotPoint& point : line.points) {
      const std::string x = data.x_categories.empty()
                                ? fmt::format("{:.15g}", point.x)
                                : csv_cell(data.x_categories[static_cast<std::size_t>(point.x)]);
      text += fmt::format("{},{},{:.15g},{:.15g},{:.15g}\n", x, csv_cell(line.name), point.y,
                          point.low, point.high);
    }
  }
  return text;
}

}  // namespace assay::report
