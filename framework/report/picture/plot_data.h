#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace assay::report {

// The samples of one point, in Tukey's form: the whiskers end at the farthest samples within 1.5
// times the box beside it; samples beyond are outliers.
struct SampleBox {
  double low = 0, q1 = 0, median = 0, q3 = 0, high = 0;
  std::vector<double> outliers;
};

SampleBox box_of(const std::vector<double>& samples);

struct PlotPoint {
  double x = 0;
  double y = 0;
  double low = 0, high = 0;          // ends of the error bar; both y: no bar
  bool unverified = false;           // an unverified time
  std::set<std::string> marks = {};  // such as "throttled"
  std::optional<SampleBox> box = {};
};

// A point without a figure.
struct PlotFailure {
  double x = 0;
  std::string word;    // "OOM", "THROTTLED"
  std::string reason;  // may be empty
};

struct PlotLine {
  std::string name;
  std::vector<PlotPoint> points;  // ascending x
  std::vector<PlotFailure> failures = {};
};

// What no point can exceed: the lower of y = slope · x and y = level.
struct Roof {
  std::string name;
  double slope = 0;
  double level = 0;
};

enum class PlotForm { lines, bars, boxes, points };

struct PlotData {
  std::string title;
  std::string x_label, y_label;  // with their units
  bool log_x = false, log_y = false;
  std::vector<std::string> x_categories;  // names of x = 0, 1, …; empty: x is a number
  std::vector<PlotLine> lines;
  PlotForm form = PlotForm::lines;
  std::vector<Roof> roofs = {};
};

// Columns x, line, y, low, high, named as on the axes; `note` where a point failed or is marked. Of
// boxes their five numbers and outliers.
std::string plot_csv(const PlotData& data);

}  // namespace assay::report
