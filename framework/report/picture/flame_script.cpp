#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "report/picture/flame.h"
#include "report/picture/gnuplot.h"

namespace assay::report {
namespace {

constexpr int flame_width = 1040, around_frames = 150, frame_height = 24;
constexpr double narrowest_drawn = 0.0005;  // of the picture
constexpr double characters = 150;          // of a frame's name that fit across the picture
constexpr std::size_t shortest_name = 3;    // after cutting
constexpr std::array plain_colours{"#E9E3D8", "#DCD4C4"};

// The name, cut to its room; "" for a room of shortest_name or less.
std::string fitting(const std::string& name, double share) {
  const auto room = static_cast<std::size_t>(share * characters);
  if (name.size() <= room) return name;
  return room <= shortest_name ? "" : name.substr(0, room - 1) + "…";
}

const char* colour_of(const FlameData& data, const FlameFrame& frame) {
  const auto at = std::find(data.shown.begin(), data.shown.end(), frame.name);
  if (at == data.shown.end())
    return plain_colours[static_cast<std::size_t>(frame.depth) % plain_colours.size()];
  return colours[static_cast<std::size_t>(at - data.shown.begin()) % colours.size()];
}

std::string rectangles(const FlameData& data, double width) {
  std::string script;
  for (const FlameFrame& frame : data.frames) {
    const double share = frame.value / width;
    if (share < narrowest_drawn) continue;
    script += fmt::format(
        "set object rectangle from {:.9g},{} to {:.9g},{} fc rgb '{}' fs solid border lc rgb "
        "'#FFFFFF'\n",
        frame.start, frame.depth, frame.start + frame.value, frame.depth + 1,
        colour_of(data, frame));
    const std::string name = fitting(frame.name, share);
    if (name.empty()) continue;
    script += fmt::format("set label {} at {:.9g},{} center font ',11' front\n", quoted(name),
                          frame.start + frame.value / 2, frame.depth + 0.5);
  }
  return script;
}

}  // namespace

std::string flame_script(const FlameData& data, const std::filesystem::path& svg) {
  int depth = 0;
  double width = 0;
  for (const FlameFrame& frame : data.frames) {
    depth = std::max(depth, frame.depth + 1);
    if (frame.depth == 0) width = std::max(width, frame.start + frame.value);
  }
  std::string script =
      script_opening(svg, flame_width, around_frames + frame_height * depth) +
      fmt::format(
          "unset grid\nset border 1\nunset ytics\nset xrange [0:{:.9g}]\nset yrange [0:{}]\n",
          width, depth);
  if (!data.title.empty()) script += "set title " + quoted(data.title) + "\n";
  script += "set xlabel " + quoted(data.label) + "\n";
  script += "set key tmargin right horizontal Left reverse\n";
  script += rectangles(data, width);
  std::string plots;
  for (std::size_t i = 0; i < data.shown.size(); ++i) {
    plots += fmt::format("{}NaN with points pt 5 ps 1.5 lc rgb '{}' title {}", i == 0 ? "" : ", ",
                         colours[i % colours.size()], quoted(data.shown[i]));
  }
  return script + "plot " + (plots.empty() ? "NaN notitle" : plots) + "\n";
}

}  // namespace assay::report
