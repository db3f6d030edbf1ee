#include "report/picture/plot_data.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "report/document/table_files.h"
#include "statistics/summary.h"

namespace assay::report {
namespace {

constexpr double whisker = 1.5;  // of the box's height

std::string x_text(const PlotData& data, double x) {
  return data.x_categories.empty() ? fmt::format("{:.15g}", x)
                                   : csv_cell(data.x_categories[static_cast<std::size_t>(x)]);
}

bool has_notes(const PlotData& data) {
  return std::ranges::any_of(data.lines, [](const PlotLine& line) {
    return !line.failures.empty() ||
           std::ranges::any_of(line.points, [](const auto& point) { return !point.marks.empty(); });
  });
}

std::string csv_of_boxes(const PlotData& data) {
  std::string text = fmt::format("{},line,{}: low,q1,median,q3,high,outliers\n",
                                 csv_cell(data.x_label), csv_cell(data.y_label));
  for (const PlotLine& line : data.lines) {
    for (const PlotPoint& point : line.points) {
      if (!point.box) continue;
      std::vector<std::string> outliers;
      for (const double value : point.box->outliers) {
        outliers.push_back(fmt::format("{:.15g}", value));
      }
      text += fmt::format("{},{},{:.15g},{:.15g},{:.15g},{:.15g},{:.15g},{}\n",
                          x_text(data, point.x), csv_cell(line.name), point.box->low, point.box->q1,
                          point.box->median, point.box->q3, point.box->high, join(outliers, " "));
    }
  }
  return text;
}

}  // namespace

SampleBox box_of(const std::vector<double>& samples) {
  const statistics::Summary summary = statistics::summarise(samples);
  SampleBox box{summary.median, summary.q1, summary.median, summary.q3, summary.median, {}};
  const double reach = whisker * (box.q3 - box.q1);
  for (const double value : samples) {
    if (value < box.q1 - reach || value > box.q3 + reach) {
      box.outliers.push_back(value);
    } else {
      box.low = std::min(box.low, value);
      box.high = std::max(box.high, value);
    }
  }
  std::ranges::sort(box.outliers);
  return box;
}

std::string plot_csv(const PlotData& data) {
  if (data.form == PlotForm::boxes) return csv_of_boxes(data);
  const bool notes = has_notes(data);
  std::string text = fmt::format("{},line,{},low,high{}\n", csv_cell(data.x_label),
                                 csv_cell(data.y_label), notes ? ",note" : "");
  for (const PlotLine& line : data.lines) {
    for (const PlotPoint& point : line.points) {
      text += fmt::format("{},{},{:.15g},{:.15g},{:.15g}", x_text(data, point.x),
                          csv_cell(line.name), point.y, point.low, point.high);
      if (notes) text += "," + csv_cell(join({point.marks.begin(), point.marks.end()}, ", "));
      text += '\n';
    }
    for (const PlotFailure& failure : line.failures) {
      text += fmt::format("{},{},,,,{}\n", x_text(data, failure.x), csv_cell(line.name),
                          csv_cell(failure.word));
    }
  }
  return text;
}

}  // namespace assay::report
