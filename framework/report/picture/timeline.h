#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "store/records/intake.h"

namespace assay::report {

// Metrics of time, in s from a common origin. sample_time holds the times of the values of another
// series with the same case, pass, part and rank. span_start and span_end hold the two ends of
// spans; their part names the stream or the phase.
inline constexpr std::string_view sample_time = "sample_time";
inline constexpr std::string_view span_start = store::span_start_metric;
inline constexpr std::string_view span_end = store::span_end_metric;

struct Span {
  double start = 0;
  double end = 0;

  bool operator==(const Span&) const = default;
};

// The union, as disjoint spans of positive length in order.
std::vector<Span> merged(std::vector<Span> spans);

// The intersection of merged spans, merged.
std::vector<Span> common(const std::vector<Span>& a, const std::vector<Span>& b);

double total(const std::vector<Span>& merged_spans);

struct TimelineLine {
  std::string name;
  std::vector<double> times, values;  // ascending times; a value holds until the next time
};

struct TimelineLane {
  std::string name;    // of the row
  std::string legend;  // one colour for each
  std::vector<Span> spans;
  std::vector<Span> overlapped;  // parts of `spans` that another lane covers
  int row = 0;                   // from the top; several lanes may share one
  std::string part;              // written into its spans where it fits; "": nothing
  std::vector<int> levels = {};  // of each span within the row, from the top; empty: all 0
  int level_count = 1;           // of the row
};

// Gives spans that overlap within a row levels of their own, at most `most`: spans beyond lie in
// the last. A span that contains others is above them.
void stack_rows(std::vector<TimelineLane>& lanes, int most);

struct TimelinePhase {
  std::string name;
  Span span;
};

// Lines over time or lanes of spans, in front of the phases. Times have one unit and start at 0.
struct TimelineData {
  std::string title;
  std::string x_label, y_label;  // with their units
  std::string overlapped_legend;
  std::vector<TimelineLine> lines;
  std::vector<TimelineLane> lanes;  // from the top
  std::vector<TimelinePhase> phases;
};

std::string timeline_script(const TimelineData& data, const std::filesystem::path& svg);

// Columns line, start, end and value; spans have no value.
std::string timeline_csv(const TimelineData& data);

}  // namespace assay::report
