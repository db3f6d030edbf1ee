#include "report/page/settle.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "report/spec/units.h"

namespace assay::report {
namespace {

class Settling {
 public:
  Settling(const Records& records, Centre ruling) : ruling_(ruling) {
    times_.insert("time");
    for (std::size_t id = 0; id < records.size(); ++id) {
      const store::Series& series = *records[id].series;
      if (!series.clock.empty() && same_dimension(series.unit, "s")) times_.insert(series.metric);
    }
  }

  void operator()(TableSpec& table) const { settle(table.grid); }
  void operator()(TextSpec& text) const { settle(text.grid); }
  void operator()(PlotSpec& plot) const { settle(plot.y, ruling_); }
  void operator()(FindingsSpec& findings) const {
    for (FindingSpec& finding : findings.findings) {
      if (!finding.centre) finding.centre = ruling_;
    }
  }
  template <class Other>
  void operator()(Other&) const {}

 private:
  bool is_time(const Measure& measure) const { return times_.contains(measure.metric); }

  void settle(Measure& measure, Centre centre) const {
    if (!measure.names_statistic && is_time(measure)) measure.statistic = statistic_of(centre);
  }

  void settle(GridSpec& grid) const;

  Centre ruling_;
  std::set<std::string> times_;  // metrics that a clock has measured
};

template <class Grid, class Visit>
void for_each_measure(Grid& grid, const Visit& visit) {
  for (auto& column : grid.columns) {
    if (auto* measure = std::get_if<Measure>(&column.content)) visit(*measure);
  }
  for (auto& pivot : grid.pivots) {
    if (auto* measure = std::get_if<Measure>(&pivot.column.content)) visit(*measure);
  }
}

// That of the first figure of "time" that names one.
std::optional<Centre> named_centre(const GridSpec& grid) {
  if (grid.centre) return grid.centre;
  std::optional<Centre> named;
  for_each_measure(grid, [&](const Measure& measure) {
    if (!named && measure.names_statistic && measure.metric == "time") {
      named = centre_of(measure.statistic);
    }
  });
  return named;
}

void Settling::settle(GridSpec& grid) const {
  const Centre own = named_centre(grid).value_or(ruling_);
  bool any_time = false;
  for_each_measure(grid, [&](Measure& measure) {
    settle(measure, own);
    any_time = any_time || (is_time(measure) && centre_of(measure.statistic) == own);
  });
  if (own == ruling_ || !any_time) return;
  grid.centre_note = fmt::format("Times here are {}s, elsewhere in this report {}s.",
                                 centre_name(own), centre_name(ruling_));
}

bool has_median(const store::Series& series) {
  return !series.samples.empty() || series.statistics.contains("median");
}

bool knows_medians(const Records& records) {
  for (std::size_t id = 0; id < records.size(); ++id) {
    const store::Series& series = *records[id].series;
    if (series.metric != "time" || series.outcome != Outcome::ok) continue;
    if (!has_median(series)) return false;
  }
  return true;
}

std::optional<Centre> of_grids(const ReportSpec& spec) {
  for (const Block& block : spec.blocks) {
    std::optional<Centre> named;
    if (const auto* table = std::get_if<TableSpec>(&block)) named = named_centre(table->grid);
    if (const auto* text = std::get_if<TextSpec>(&block)) named = named_centre(text->grid);
    if (named) return named;
  }
  return std::nullopt;
}

std::optional<Centre> of_plots(const ReportSpec& spec) {
  for (const Block& block : spec.blocks) {
    const auto* plot = std::get_if<PlotSpec>(&block);
    if (plot == nullptr || !plot->y.names_statistic || plot->y.metric != "time") continue;
    if (const auto named = centre_of(plot->y.statistic)) return named;
  }
  return std::nullopt;
}

}  // namespace

Centre ruling_centre(const Records& records, const ReportSpec& spec) {
  if (const auto named = of_grids(spec)) return *named;
  if (const auto named = of_plots(spec)) return *named;
  return knows_medians(records) ? Centre::median : Centre::mean;
}

void settle_statistics(const Records& records, ReportSpec& spec) {
  const Settling settling(records, ruling_centre(records, spec));
  for (Block& block : spec.blocks) std::visit(settling, block);
}

}  // namespace assay::report
