#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace assay::report {

struct PlotPoint {
  double x = 0;
  double y = 0;
  double low = 0, high = 0;  // ends of the error bar; both y: no bar
  bool unverified = false;   // an unverified time
};

struct PlotLine {
  std::string name;
  std::vector<PlotPoint> points;  // ascending x
};

struct PlotData {
  std::string title;
  std::string x_label, y_label;  // with their units
  bool log_x = false, log_y = false;
  std::vector<std::string> x_categories;  // names of x = 0, 1, …; empty: x is a number
  std::vector<PlotLine> lines;
};

std::string gnuplot_script(const PlotData& data, const std::filesystem::path& svg);

// Columns x, line, y, low, high, named as on the axes.
std::string plot_csv(const PlotData& data);

}  // namespace assay::report
