#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "base/text.h"
#include "report/picture/picture.h"
#include "report/picture/timeline.h"
#include "report/spec/format.h"
#include "report/spec/units.h"
#include "report/table/pivot.h"

namespace assay::report {
namespace {

constexpr std::size_t most_legends = 12;
constexpr int most_levels = 6;

class TimelineBuilder {
 public:
  TimelineBuilder(const Records& records, const TimelineSpec& spec)
      : records_(records), spec_(spec) {}

  Result<TimelineData> build(const Filter& combination) {
    const auto chosen = select_both(records_, spec_.where, combination);
    if (!chosen) return tl::unexpected(chosen.error());
    if (auto done = take(*chosen); !done) return tl::unexpected(done.error());
    TimelineData data;
    for (const int rank : ranks_) {
      for (auto done : {add_lines(rank, data), add_lanes(rank, data)}) {
        if (!done) return tl::unexpected(done.error());
      }
    }
    if (auto done = add_phases(data); !done) return tl::unexpected(done.error());
    if (data.lines.empty() && data.lanes.empty()) return data;
    begin_at_zero(data);
    join_small_parts(data);
    stack_rows(data.lanes, most_levels);
    return data;
  }

  // How long one part overlaps another on each rank; call after build().
  Result<TableSection> overlap_table() const {
    TableSection table;
    const std::string& of = spec_.overlap->of;
    table.columns = {
        {"rank", {}, 0, true},
        {fmt::format("{} [{}]", label(of), time_unit_), {}, 0, true},
        {fmt::format("during {} [{}]", label(spec_.overlap->with), time_unit_), {}, 0, true},
        {"overlap [%]", {}, 0, true}};
    for (const int rank : ranks_) {
      const auto own = spans(rank, of);
      if (!own) return tl::unexpected(own.error());
      const auto hidden = overlapped(rank);
      if (!hidden) return tl::unexpected(hidden.error());
      const double length = total(merged(*own)), inside = total(*hidden);
      if (length == 0) continue;
      const double factor = convert(1, "s", time_unit_);
      table.columns[0].cells.push_back(fmt::format("{}", rank));
      table.columns[1].cells.push_back(apply(Format(), length * factor, false, time_unit_));
      table.columns[2].cells.push_back(apply(Format(), inside * factor, false, time_unit_));
      table.columns[3].cells.push_back(fmt::format("{:.1f}", 100 * inside / length));
    }
    return table;
  }

  std::string absence() const {
    return failure_.empty() ? "No result matches this timeline." : failure_;
  }

 private:
  struct Place {
    int rank;
    std::string part, lane, metric;
    bool operator<(const Place& other) const {
      return std::tie(rank, part, lane, metric) <
             std::tie(other.rank, other.part, other.lane, other.metric);
    }
  };

  struct PartSpans {
    std::string part;
    std::vector<Span> spans;
  };

  // name: of a part or a lane.
  bool wants(const std::string& name) const {
    const auto has = [&](const std::vector<std::string>& names) {
      return std::count(names.begin(), names.end(), name) > 0;
    };
    return has(spec_.lanes) || has(spec_.phases) ||
           (spec_.overlap && (spec_.overlap->of == name || spec_.overlap->with == name));
  }

  bool wanted(const store::Series& series) const {
    if (series.metric == span_start || series.metric == span_end) {
      return wants(series.part) || (!series.lane.empty() && wants(series.lane));
    }
    return (series.metric == sample_time && !spec_.values.empty()) ||
           std::count(spec_.values.begin(), spec_.values.end(), series.metric) > 0;
  }

  Result<void> take(const RecordIds& ids) {
    RecordIds taken;
    for (const std::uint32_t id : ids) {
      const store::Series& series = *records_[id].series;
      if (series.outcome != Outcome::ok) {
        failure_ = fmt::format("No timeline: {}: {}.", to_text(series.outcome), series.reason);
        continue;
      }
      if (!wanted(series)) continue;
      taken.push_back(id);
      series_[{series.rank, series.part, series.lane, series.metric}] = &series;
      if (series.metric == span_start || series.metric == span_end) parts_.insert(series.part);
      ranks_.insert(series.rank);
    }
    return require_one_case(records_, taken, {"rank", "part", "run"}, "timeline", spec_.at);
  }

  const store::Series* find(int rank, const std::string& part, const std::string& lane,
                            std::string_view metric) const {
    const auto at = series_.find({rank, part, lane, std::string(metric)});
    return at == series_.end() ? nullptr : at->second;
  }

  // The name of a part means the part, in whatever lanes it is.
  bool is_lane(const std::string& name) const { return parts_.count(name) == 0; }

  Result<std::vector<Span>> spans(int rank, const std::string& name) const {
    auto groups = spans_by_part(rank, name);
    if (!groups) return tl::unexpected(groups.error());
    std::vector<Span> all;
    for (const PartSpans& group : *groups) {
      all.insert(all.end(), group.spans.begin(), group.spans.end());
    }
    return all;
  }

  // Of a part, or of all parts of a lane.
  Result<std::vector<PartSpans>> spans_by_part(int rank, const std::string& name) const {
    std::set<std::pair<std::string, std::string>> places;  // part and lane
    for (const auto& [place, series] : series_) {
      if (place.rank != rank || (place.metric != span_start && place.metric != span_end)) continue;
      if ((is_lane(name) ? place.lane : place.part) == name)
        places.insert({place.part, place.lane});
    }
    std::vector<PartSpans> groups;
    for (const auto& [part, lane] : places) {
      auto spans = spans_at(rank, part, lane);
      if (!spans) return tl::unexpected(spans.error());
      if (groups.empty() || groups.back().part != part) groups.push_back({part, {}});
      groups.back().spans.insert(groups.back().spans.end(), spans->begin(), spans->end());
    }
    return groups;
  }

  Result<std::vector<Span>> spans_at(int rank, const std::string& part,
                                     const std::string& lane) const {
    const store::Series* starts = find(rank, part, lane, span_start);
    const store::Series* ends = find(rank, part, lane, span_end);
    std::vector<Span> result;
    const auto wrong = [&](const std::string& what) {
      return fail_at(spec_.at, fmt::format("the spans of '{}' on rank {}: {}", part, rank, what));
    };
    if (!starts || !ends || starts->samples.size() != ends->samples.size()) {
      return wrong(fmt::format("{} starts and {} ends", starts ? starts->samples.size() : 0,
                               ends ? ends->samples.size() : 0));
    }
    for (std::size_t i = 0; i < starts->samples.size(); ++i) {
      result.push_back({starts->samples[i], ends->samples[i]});
      if (!(result.back().start <= result.back().end))
        return wrong(fmt::format("number {} ends before it starts", i + 1));
    }
    return result;
  }

  Result<std::vector<Span>> overlapped(int rank) const {
    auto of = spans(rank, spec_.overlap->of);
    if (!of) return of;
    auto with = spans(rank, spec_.overlap->with);
    if (!with) return with;
    return common(merged(*of), merged(*with));
  }

  std::string label(const std::string& name) const {
    const auto at = spec_.labels.find(name);
    return at == spec_.labels.end() ? name : at->second;
  }

  std::string on_rank(const std::string& name, int rank) const {
    return ranks_.size() > 1 ? fmt::format("{}, rank {}", name, rank) : name;
  }

  Result<void> add_lines(int rank, TimelineData& data) {
    for (const std::string& metric : spec_.values) {
      for (const auto& [place, series] : series_) {
        if (place.rank != rank || place.metric != metric) continue;
        const store::Series* times = find(rank, place.part, place.lane, sample_time);
        const std::size_t count = times ? times->samples.size() : 0;
        if (count != series->samples.size() || count == 0) {
          return fail_at(spec_.at,
                         fmt::format("{} of rank {} has {} values and {} times", metric, rank,
                                     series->samples.size(), count),
                         "the series sample_time must hold a time for each value");
        }
        if (!std::is_sorted(times->samples.begin(), times->samples.end())) {
          return fail_at(spec_.at, fmt::format("the times of {} do not ascend", metric));
        }
        const std::string name =
            place.part.empty() ? label(metric) : label(metric) + " " + label(place.part);
        value_unit_ = series->unit;
        data.lines.push_back({on_rank(name, rank), times->samples, series->samples});
      }
    }
    return {};
  }

  Result<void> add_lanes(int rank, TimelineData& data) const {
    for (const std::string& name : spec_.lanes) {
      auto groups = spans_by_part(rank, name);
      if (!groups) return tl::unexpected(groups.error());
      const int row = data.lanes.empty() ? 0 : data.lanes.back().row + 1;
      const std::size_t before = data.lanes.size();
      for (PartSpans& group : *groups) {
        if (group.spans.empty()) continue;
        const std::string part = is_lane(name) ? label(group.part) : "";
        data.lanes.push_back({on_rank(label(name), rank),
                              part.empty() ? label(name) : part,
                              std::move(group.spans),
                              {},
                              row,
                              part});
      }
      if (data.lanes.size() > before && spec_.overlap && spec_.overlap->of == name) {
        auto hidden = overlapped(rank);
        if (!hidden) return tl::unexpected(hidden.error());
        data.lanes[before].overlapped = std::move(*hidden);
      }
    }
    return {};
  }

  // Small parts of lanes share a colour, so that the legend stays readable.
  static void join_small_parts(TimelineData& data) {
    std::map<std::string, double> lengths;
    for (const TimelineLane& lane : data.lanes) {
      for (const Span& span : lane.spans) lengths[lane.legend] += span.end - span.start;
    }
    if (lengths.size() <= most_legends) return;
    std::vector<std::pair<double, std::string>> order;
    for (const auto& [legend, length] : lengths) order.emplace_back(-length, legend);
    std::sort(order.begin(), order.end());
    std::set<std::string> own;
    for (std::size_t i = 0; i + 1 < most_legends; ++i) own.insert(order[i].second);
    for (TimelineLane& lane : data.lanes) {
      if (!lane.part.empty() && own.count(lane.legend) == 0) lane.legend = "other parts";
    }
  }

  // A picture has one set of bands, from the first rank.
  Result<void> add_phases(TimelineData& data) const {
    if (ranks_.empty()) return {};
    for (const std::string& part : spec_.phases) {
      const auto own = spans(*ranks_.begin(), part);
      if (!own) return tl::unexpected(own.error());
      for (const Span& span : *own) data.phases.push_back({label(part), span});
    }
    std::stable_sort(
        data.phases.begin(), data.phases.end(),
        [](const TimelinePhase& a, const TimelinePhase& b) { return a.span.start < b.span.start; });
    return {};
  }

  template <class Change>
  static void for_each_time(TimelineData& data, const Change& change) {
    const auto of_spans = [&](std::vector<Span>& spans) {
      for (Span& span : spans) {
        change(span.start);
        change(span.end);
      }
    };
    for (TimelineLine& line : data.lines) {
      for (double& time : line.times) change(time);
    }
    for (TimelineLane& lane : data.lanes) {
      of_spans(lane.spans);
      of_spans(lane.overlapped);
    }
    for (TimelinePhase& phase : data.phases) {
      change(phase.span.start);
      change(phase.span.end);
    }
  }

  void begin_at_zero(TimelineData& data) {
    double first = HUGE_VAL, last = -HUGE_VAL, largest = 0;
    for_each_time(data, [&](double& time) {
      first = std::min(first, time);
      last = std::max(last, time);
    });
    time_unit_ = sensible_unit(last - first, "s");
    const double factor = convert(1, "s", time_unit_);
    for_each_time(data, [&](double& time) { time = (time - first) * factor; });
    data.x_label = "time [" + time_unit_ + "]";
    if (spec_.overlap) {
      data.overlapped_legend = label(spec_.overlap->of) + " during " + label(spec_.overlap->with);
    }
    if (data.lines.empty()) return;
    for (const TimelineLine& line : data.lines) {
      largest = std::max(largest, *std::max_element(line.values.begin(), line.values.end()));
    }
    const std::string unit = spec_.unit.empty() ? sensible_unit(largest, value_unit_) : spec_.unit;
    for (TimelineLine& line : data.lines) {
      for (double& value : line.values) value = convert(value, value_unit_, unit);
    }
    const std::string shown = spec_.values.size() == 1 ? label(spec_.values.front()) : "";
    data.y_label = unit.empty() || unit == "count" ? shown
                   : shown.empty()                 ? "[" + unit + "]"
                                                   : shown + " [" + unit + "]";
  }

  const Records& records_;
  const TimelineSpec& spec_;
  std::map<Place, const store::Series*> series_;
  std::set<int> ranks_;
  std::set<std::string> parts_;  // of spans
  std::string time_unit_ = "s", value_unit_, failure_;
};

}  // namespace

Result<std::vector<Section>> timeline_sections(const Records& records, const TimelineSpec& spec,
                                               const SideFiles& folder, int& number) {
  const std::string metric = spec.values.empty() ? std::string(span_start) : spec.values.front();
  auto repeats = combinations(records, spec.for_each, spec.where, metric);
  if (!repeats) return tl::unexpected(repeats.error());
  std::vector<Section> sections;
  for (const Filter& combination : *repeats) {
    TimelineBuilder builder(records, spec);
    auto data = builder.build(combination);
    if (!data) return tl::unexpected(data.error());
    if (data->lines.empty() && data->lanes.empty()) {
      sections.push_back(Paragraph{builder.absence()});
      continue;
    }
    data->title = picture_title(spec.title, combination);
    sections.push_back(
        picture(folder, fmt::format("timeline-{}", ++number),
                data->title.empty() ? "Timeline" : data->title, timeline_csv(*data),
                [&](const std::filesystem::path& svg) { return timeline_script(*data, svg); }));
    if (!spec.overlap) continue;
    auto table = builder.overlap_table();
    if (!table) return tl::unexpected(table.error());
    if (!table->columns.front().cells.empty()) sections.push_back(std::move(*table));
  }
  return sections;
}

}  // namespace assay::report
