#include "report/page/default_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "report/data/cell.h"
#include "report/data/reduce.h"
#include "report/page/default_rates.h"
#include "report/page/default_recorded.h"
#include "report/page/settle.h"
#include "report/picture/timeline.h"
#include "report/spec/units.h"
#include "statistics/quantiles.h"

namespace assay::report {
namespace {

constexpr std::size_t most_lines = 8;
constexpr std::size_t most_pictures = 6;
constexpr std::size_t most_categories = 12;

bool numeric(const Records::Axis& axis) {
  return std::all_of(axis.values.begin() + 1, axis.values.end(), [](const Value& value) {
    return std::holds_alternative<std::int64_t>(value) || std::holds_alternative<double>(value);
  });
}

std::vector<std::string> passes_of(const Records& records, const std::string& metric) {
  std::vector<std::string> passes;
  if (metric.empty()) return passes;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const store::Series& series = *records[i].series;
    if (series.metric == metric && series.part.empty() &&
        !std::count(passes.begin(), passes.end(), series.pass)) {
      passes.push_back(series.pass);
    }
  }
  return passes;
}

Column figure(const std::string& name, const std::string& metric, const std::string& pass,
              const std::string& unit, Statistic statistic) {
  Column column;
  column.name = name;
  Measure measure;
  measure.metric = metric;
  measure.unit = unit;
  measure.statistic = statistic;
  measure.where.conditions.push_back({"pass", {pass}});
  measure.names_statistic = true;
  column.content = std::move(measure);
  return column;
}

std::string with_unit(const std::string& name, const std::string& unit) {
  return unit.empty() || unit == "count" ? name : name + " [" + unit + "]";
}

// "0.730 ± 0.033".
void add_spread(const std::string& metric, const std::string& pass, const std::string& unit,
                Centre centre, std::vector<Column>& columns) {
  const std::string name = pass.empty() ? metric : pass + " " + metric;
  const Statistic shown = statistic_of(centre);
  Column value = figure(name + "#value", metric, pass, unit, shown);
  Column spread = figure(name + "#spread", metric, pass, unit, *uncertainty_of(shown));
  value.shown = spread.shown = false;
  Column both;
  both.name = with_unit(name, unit);
  both.content = JoinContent{{value.name, spread.name}, " ± ", true};
  both.align = 'r';
  columns.push_back(std::move(value));
  columns.push_back(std::move(spread));
  columns.push_back(std::move(both));
}

void add_plain(const std::string& metric, const std::string& pass, const std::string& unit,
               std::vector<Column>& columns) {
  const std::string name = pass.empty() ? metric : pass + " " + metric;
  columns.push_back(figure(with_unit(name, unit), metric, pass, unit, Statistic::mean));
}

// Makes axes lines up to most_lines, then pictures, beside one a pass. False: more than
// most_pictures.
bool distribute(const Records& records, const std::vector<std::string>& axes,
                const std::vector<std::string>& passes, PlotSpec& plot) {
  std::size_t lines = 1, pictures = std::max<std::size_t>(passes.size(), 1);
  std::string title = plot.y.metric + " over " + plot.x;
  if (passes.size() > 1) {
    plot.for_each.emplace_back("pass");
    title = "{pass} " + title;
  } else if (!passes.empty() && !passes.front().empty()) {
    title = passes.front() + " " + title;
  }
  for (const std::string& name : axes) {
    const std::size_t values = records.axes()[*records.axis(name)].values.size() - 1;
    if (lines * values <= most_lines) {
      lines *= values;
      plot.series.push_back(name);
    } else {
      pictures *= values;
      plot.for_each.push_back(name);
      title += ", " + name + " {" + name + "}";
    }
  }
  auto parsed = Template::parse(title);
  if (parsed) plot.title = std::move(*parsed);
  return parsed && pictures <= most_pictures;
}

// The longest axis of numbers, or else of names; "" where none varies.
std::string axis_of_plot(const Records& records, bool of_numbers) {
  std::string longest;
  std::size_t most_values = 0;
  for (std::size_t axis = std::size(series_axes); axis < records.first_derived(); ++axis) {
    const auto& candidate = records.axes()[axis];
    if (!records.varies(axis) || numeric(candidate) != of_numbers || candidate.name == "repeat") {
      continue;
    }
    if (!of_numbers && candidate.values.size() > most_categories + 1) continue;
    if (candidate.values.size() > most_values) {
      most_values = candidate.values.size();
      longest = candidate.name;
    }
  }
  return longest;
}

// Whether the values, each a power of two or spanning a factor of eight, want a logarithmic axis.
bool wants_logarithm(const Records::Axis& axis) {
  double low = HUGE_VAL, high = 0;
  bool powers_of_two = axis.values.size() > 3;
  for (std::size_t i = 1; i < axis.values.size(); ++i) {
    const double number = Cell::of_value(axis.values[i]).number;
    int exponent = 0;
    powers_of_two = powers_of_two && number > 0 && std::frexp(number, &exponent) == 0.5;
    low = std::min(low, number);
    high = std::max(high, number);
  }
  return low > 0 && (powers_of_two || high / low >= 8);
}

std::optional<PlotSpec> default_plot(const Records& records, const std::string& metric) {
  const auto passes = passes_of(records, metric);
  if (passes.empty()) return std::nullopt;
  PlotSpec plot;
  plot.y.metric = metric;
  plot.x = axis_of_plot(records, true);
  if (plot.x.empty()) {
    plot.x = axis_of_plot(records, false);
  } else {
    plot.log_x = wants_logarithm(records.axes()[*records.axis(plot.x)]);
  }
  if (plot.x.empty()) return std::nullopt;
  plot.log_y = plot.log_x;
  std::vector<std::string> others;
  for (std::size_t axis = std::size(series_axes); axis < records.first_derived(); ++axis) {
    const std::string& name = records.axes()[axis].name;
    if (records.varies(axis) && name != plot.x) others.push_back(name);
  }
  if (records.sources().size() > 1) others.push_back("source");
  plot.where.conditions.push_back({"pass", passes});
  if (!distribute(records, others, passes, plot)) return std::nullopt;
  return plot;
}

// The first metric but for the times of timelines; "" without one.
std::string first_figure(const Records& records) {
  for (const auto& [name, unit] : records.metrics()) {
    const bool of_timeline = name == sample_time || name == span_start || name == span_end;
    if (!of_timeline && name != "observed_time" && !records.is_text(name)) return name;
  }
  return "";
}

}  // namespace

std::string fitting_unit(const Records& records, const std::string& metric,
                         const std::string& pass) {
  std::vector<double> figures;
  std::string unit;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const store::Series& series = *records[i].series;
    if (series.metric != metric || series.outcome != Outcome::ok) continue;
    if (!pass.empty() && series.pass != pass) continue;
    if (!series.unit.empty()) unit = series.unit;
    if (const auto mean = reduce({&series}, RankRule::maximum, Statistic::mean))
      figures.push_back(*mean);
  }
  if (figures.empty()) return unit;
  return sensible_unit(statistics::median(figures), unit);
}

void add_source_column(const Records& records, TableSpec& table) {
  if (records.sources().size() < 2) return;
  Column source;
  source.name = "source";
  source.content = AxisContent{"source", ""};
  table.grid.columns.insert(table.grid.columns.begin(), std::move(source));
}

namespace {

FindingsSpec all_findings() {
  FindingsSpec findings;
  for (const char* kind :
       {"speedup", "scaling", "warmup", "noise", "observers", "kernels", "failures"}) {
    FindingSpec finding;
    finding.kind = kind;
    findings.findings.push_back(std::move(finding));
  }
  return findings;
}

std::string how_to_read(const std::string& main, Centre centre) {
  const std::string what = main == "time" ? "Times" : "Figures";
  return centre == Centre::median
             ? what +
                   " are medians; ± is the distance to the farther end of their 95 % confidence "
                   "interval."
             : what + " are means; ± is the standard deviation of the samples.";
}

TableSpec default_table(const Records& records, const std::string& main, Centre centre) {
  TableSpec table;
  table.grid.varying_rows = true;
  if (records.sources().size() > 1) table.grid.keys.push_back("source");
  for (const std::string& pass : passes_of(records, main)) {
    add_spread(main, pass, fitting_unit(records, main, pass), centre, table.grid.columns);
  }
  if (has_metric(records, "peak_memory") && main != "peak_memory") {
    for (const std::string& pass : passes_of(records, "peak_memory")) {
      add_plain("peak_memory", pass, fitting_unit(records, "peak_memory", pass),
                table.grid.columns);
    }
  }
  return table;
}

}  // namespace

ReportSpec default_spec(const Records& records) {
  ReportSpec spec;
  const std::string main = has_metric(records, "time") ? "time" : first_figure(records);
  const Centre centre = main == "time" ? ruling_centre(records, {}) : Centre::mean;
  TableSpec table = default_table(records, main, centre);
  spec.blocks.push_back(HeadingSpec{2, "Findings"});
  spec.blocks.push_back(all_findings());
  spec.blocks.push_back(HeadingSpec{2, "Results"});
  std::vector<Block> recorded = phase_blocks(records);
  std::ranges::move(recorded_blocks(records), std::back_inserter(recorded));
  if (table.grid.columns.empty() && !recorded.empty()) {
    // Nothing but what passes without a clock have recorded.
  } else if (table.grid.columns.empty()) {
    spec.blocks.push_back(ProseSpec{"No case of this run has a result."});
  } else {
    add_source_column(records, table);
    spec.blocks.push_back(std::move(table));
    spec.blocks.push_back(ProseSpec{how_to_read(main, centre)});
    std::ranges::move(rate_blocks(records), std::back_inserter(spec.blocks));
    if (auto plot = default_plot(records, main)) spec.blocks.push_back(std::move(*plot));
  }
  std::ranges::move(recorded, std::back_inserter(spec.blocks));
  std::ranges::move(file_blocks(records), std::back_inserter(spec.blocks));
  return spec;
}

}  // namespace assay::report
