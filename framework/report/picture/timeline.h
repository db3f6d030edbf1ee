#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace assay::report {

// Metrics that say when: a series of values over time has a companion of the same case, pass, part
// and rank whose samples are the times at which the values were taken; spans are two series, their
// starts and their ends, whose part names the stream or the phase. All in s from any one origin.
inline constexpr std::string_view sample_time = "sample_time";
inline constexpr std::string_view span_start = "span_start";
inline constexpr std::string_view span_end = "span_end";

struct Span {
  double start = 0;
  double end = 0;

  bool operator==(const Span&) const = default;
};

// The same stretch of time as disjoint spans in order; those without length are gone.
std::vector<Span> merged(std::vector<Span> spans);

// What lies in both. Takes and gives merged spans.
std::vector<Span> common(const std::vector<Span>& a, const std::vector<Span>& b);

double total(const std::vector<Span>& merged_spans);

struct TimelineLine {
  std::string name;
  std::vector<double> times, values;  // ascending times; a value holds until the next
};

struct TimelineLane {
  std::string name;    // of its row
  std::string legend;  // lanes that share it share a colour
  std::vector<Span> spans;
  std::vector<Span> overlapped;  // those of them that another lane covers
};

struct TimelinePhase {
  std::string name;
  Span span;
};

// Lines over time or lanes of spans, with the phases marked behind either. Times in one unit, from
// 0 at the earliest.
struct TimelineData {
  std::string title;
  std::string x_label, y_label;   // with their units
  std::string overlapped_legend;  // what `overlapped` spans are
  std::vector<TimelineLine> lines;
  std::vector<TimelineLane> lanes;  // from the top
  std::vector<TimelinePhase> phases;
};

// The same data always gives the same script.
std::string timeline_script(const TimelineData& data, const std::filesystem::path& svg);

// Columns line, start, end and the value, which spans do not have.
std::string timeline_csv(const TimelineData& data);

}  // namespace assay::report
