#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "accounting/mesh_search.h"

namespace assay::accounting {

namespace {

constexpr double width = 760, height = 480;
constexpr double left = 80, right = 20, top = 50, bottom = 60;

// A logarithmic axis over [low, high], drawn from `from` to `to`.
struct Axis {
  double low, high, from, to;

  double at(double value) const {
    return from + (to - from) * std::log(value / low) / std::log(high / low);
  }
  // 1, 2 and 5 times each power of ten within.
  std::vector<double> ticks() const {
    std::vector<double> found;
    for (double power = std::pow(10, std::floor(std::log10(low))); power <= high; power *= 10) {
      for (const double step : {1, 2, 5}) {
        if (step * power >= low && step * power <= high) found.push_back(step * power);
      }
    }
    return found;
  }
};

Axis axis_over(double low, double high, double from, double to) {
  return {low / 1.2, high * 1.2, from, to};
}

class Picture {
 public:
  Picture(const MeshSearch& search, double limit) : search_(search), limit_(limit) {
    double least = limit / 1e9, most = limit / 1e9, fastest = INFINITY, slowest = 0;
    for (const Candidate& each : search.candidates) {
      least = std::min(least, each.memory / 1e9);
      most = std::max(most, each.memory / 1e9);
      fastest = std::min(fastest, each.time_s);
      slowest = std::max(slowest, each.time_s);
    }
    x_ = axis_over(least, most, left, width - right);
    y_ = axis_over(fastest, slowest, height - bottom, top);
  }

  std::string draw() {
    text_ = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
        "height=\"{1}\" font-family=\"sans-serif\" font-size=\"12\">\n"
        "<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n",
        width, height);
    draw_axes();
    draw_limit();
    for (const Candidate& each : search_.candidates) draw_candidate(each);
    draw_best();
    return text_ + "</svg>\n";
  }

 private:
  void label(double x, double y, const char* anchor, const std::string& text) {
    text_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y,
                         anchor, text);
  }
  void line(double x1, double y1, double x2, double y2, const char* style) {
    text_ +=
        fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke={}/>\n",
                    x1, y1, x2, y2, style);
  }

  void draw_axes() {
    for (const double tick : x_.ticks()) {
      line(x_.at(tick), top, x_.at(tick), height - bottom, "\"#ddd\"");
      label(x_.at(tick), height - bottom + 16, "middle", fmt::format("{:g}", tick));
    }
    for (const double tick : y_.ticks()) {
      line(left, y_.at(tick), width - right, y_.at(tick), "\"#ddd\"");
      label(left - 6, y_.at(tick) + 4, "end", fmt::format("{:g}", tick));
    }
    label((left + width - right) / 2, height - 16, "middle", "memory of a device (GB)");
    text_ += fmt::format(
        "<text transform=\"translate(20 {:.1f}) rotate(-90)\" text-anchor=\"middle\">time of a "
        "step (s)</text>\n",
        (top + height - bottom) / 2);
  }

  void draw_limit() {
    const double x = x_.at(limit_ / 1e9);
    line(x, top, x, height - bottom, "\"#c00\" stroke-dasharray=\"5 3\"");
    label(x, top - 6, "middle", fmt::format("limit {:g} GB", limit_ / 1e9));
  }

  static std::string title(const Candidate& each) {
    return fmt::format("{}: {:.1f} GB, {:.3g} s", mesh_text(each.mesh), each.memory / 1e9,
                       each.time_s);
  }

  void draw_candidate(const Candidate& each) {
    text_ += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\" fill-opacity=\"0.6\"><title>{}"
        "</title></circle>\n",
        x_.at(each.memory / 1e9), y_.at(each.time_s), each.memory <= limit_ ? "#1f77b4" : "#bbbbbb",
        title(each));
  }

  void draw_best() {
    if (!search_.best) {
      label(left, 20, "start", "No mesh fits.");
      return;
    }
    text_ += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"7\" fill=\"none\" stroke=\"#c00\" "
        "stroke-width=\"2\"/>\n",
        x_.at(search_.best->memory / 1e9), y_.at(search_.best->time_s));
    label(left, 20, "start", "best: " + title(*search_.best));
  }

  const MeshSearch& search_;
  double limit_;
  Axis x_{}, y_{};
  std::string text_;
};

}  // namespace

std::string search_picture(const MeshSearch& search, double limit) {
  return Picture(search, limit).draw();
}

}  // namespace assay::accounting
