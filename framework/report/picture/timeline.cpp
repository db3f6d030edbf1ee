#include "report/picture/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "report/document/table_files.h"
#include "report/picture/gnuplot.h"

namespace assay::report {

std::vector<Span> merged(std::vector<Span> spans) {
  std::sort(spans.begin(), spans.end(),
            [](const Span& a, const Span& b) { return a.start < b.start; });
  std::vector<Span> result;
  for (const Span& span : spans) {
    if (span.end <= span.start) continue;
    if (!result.empty() && span.start <= result.back().end) {
      result.back().end = std::max(result.back().end, span.end);
    } else {
      result.push_back(span);
    }
  }
  return result;
}

std::vector<Span> common(const std::vector<Span>& a, const std::vector<Span>& b) {
  std::vector<Span> result;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const Span both{std::max(a[i].start, b[j].start), std::min(a[i].end, b[j].end)};
    if (both.start < both.end) result.push_back(both);
    (a[i].end < b[j].end ? i : j) += 1;
  }
  return result;
}

double total(const std::vector<Span>& merged_spans) {
  double length = 0;
  for (const Span& span : merged_spans) length += span.end - span.start;
  return length;
}

void stack_rows(std::vector<TimelineLane>& lanes, int most) {
  struct Place {
    Span span;
    std::size_t lane, index;
  };
  std::map<int, std::vector<Place>> rows;
  for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
    for (std::size_t i = 0; i < lanes[lane].spans.size(); ++i) {
      rows[lanes[lane].row].push_back({lanes[lane].spans[i], lane, i});
    }
  }
  for (auto& [row, places] : rows) {
    std::stable_sort(places.begin(), places.end(), [](const Place& a, const Place& b) {
      return std::pair(a.span.start, -a.span.end) < std::pair(b.span.start, -b.span.end);
    });
    std::vector<double> ends;
    std::vector<std::size_t> levels;
    for (const Place& place : places) {
      const auto free = std::find_if(ends.begin(), ends.end(),
                                     [&](double end) { return end <= place.span.start; });
      std::size_t level = static_cast<std::size_t>(free - ends.begin());
      if (level == ends.size() && ends.size() < static_cast<std::size_t>(most)) ends.push_back(0);
      level = std::min(level, ends.size() - 1);
      ends[level] = std::max(ends[level], place.span.end);
      levels.push_back(level);
    }
    if (ends.size() < 2) continue;
    for (std::size_t i = 0; i < places.size(); ++i) {
      TimelineLane& lane = lanes[places[i].lane];
      lane.level_count = static_cast<int>(ends.size());
      lane.levels.resize(lane.spans.size());
      lane.levels[places[i].index] = static_cast<int>(levels[i]);
    }
  }
}

std::string timeline_csv(const TimelineData& data) {
  std::string text = fmt::format("line,start {0},end {0},{1}\n", csv_cell(data.x_label),
                                 csv_cell(data.lines.empty() ? "value" : data.y_label));
  for (const TimelineLine& line : data.lines) {
    for (std::size_t i = 0; i < line.times.size(); ++i) {
      const double end = line.times[std::min(i + 1, line.times.size() - 1)];
      text += fmt::format("{},{:.9g},{:.9g},{:.9g}\n", csv_cell(line.name), line.times[i], end,
                          line.values[i]);
    }
  }
  for (const TimelineLane& lane : data.lanes) {
    for (const Span& span : lane.spans) {
      const std::string name = lane.part.empty() ? lane.name : lane.name + ": " + lane.part;
      text += fmt::format("{},{:.9g},{:.9g},\n", csv_cell(name), span.start, span.end);
    }
  }
  for (const TimelinePhase& phase : data.phases) {
    text +=
        fmt::format("{},{:.9g},{:.9g},\n", csv_cell(phase.name), phase.span.start, phase.span.end);
  }
  return text;
}

}  // namespace assay::report
