#include "report/page/default_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "report/data/cell.h"
#include "report/data/reduce.h"
#include "report/page/default_recorded.h"
#include "report/picture/timeline.h"
#include "report/spec/units.h"
#include "statistics/quantiles.h"

namespace assay::report {
namespace {

constexpr std::size_t most_lines = 8;
constexpr std::size_t most_pictures = 6;

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
  column.content = std::move(measure);
  column.format = *parse_format("{:.4g}");
  return column;
}

std::string with_unit(const std::string& name, const std::string& unit) {
  return unit.empty() || unit == "count" ? name : name + " [" + unit + "]";
}

void add_spread(const std::string& metric, const std::string& pass, const std::string& unit,
                std::vector<Column>& columns) {
  const std::string name = pass.empty() ? metric : pass + " " + metric;
  Column mean = figure(name + "#mean", metric, pass, unit, Statistic::mean);
  Column spread = figure(name + "#std", metric, pass, unit, Statistic::std);
  mean.shown = spread.shown = false;
  spread.format = *parse_format("{:.2g}");
  Column both;
  both.name = with_unit(name, unit);
  both.content = JoinContent{{mean.name, spread.name}, " ± ", true};
  both.align = 'r';
  columns.push_back(std::move(mean));
  columns.push_back(std::move(spread));
  columns.push_back(std::move(both));
}

// The hidden columns have names that an expression can use.
void add_known_median(const std::string& metric, const std::string& pass, const std::string& unit,
                      std::vector<Column>& columns) {
  const std::string name = pass.empty() ? metric : pass + " " + metric;
  const std::string number = std::to_string(columns.size());
  Column median = figure("median" + number, metric, pass, unit, Statistic::median);
  Column low = figure("low" + number, metric, pass, unit, Statistic::median_ci_low);
  Column high = figure("high" + number, metric, pass, unit, Statistic::median_ci_high);
  Column reach;
  reach.name = name + "#reach";
  reach.content =
      ExpressionContent{*Expression::compile(fmt::format("max({0} - {1}, {1} - {2})", high.name,
                                                         median.name, low.name)),
                        ""};
  reach.format = *parse_format("{:.2g}");
  Column both;
  both.name = with_unit(name, unit);
  both.content = JoinContent{{median.name, reach.name}, " ± ", true};
  both.align = 'r';
  median.shown = low.shown = high.shown = reach.shown = false;
  for (Column* column : {&median, &low, &high, &reach, &both}) {
    columns.push_back(std::move(*column));
  }
}

bool had_targets(const Records& records) {
  const auto axis = records.axis("measure.target");
  if (!axis) return false;
  const auto& values = records.axes()[*axis].values;
  return values.size() > 1 && std::all_of(values.begin() + 1, values.end(), [](const Value& value) {
           const auto* target = std::get_if<double>(&value);
           return target != nullptr && *target > 0;
         });
}

void add_plain(const std::string& metric, const std::string& pass, const std::string& unit,
               std::vector<Column>& columns) {
  const std::string name = pass.empty() ? metric : pass + " " + metric;
  columns.push_back(figure(with_unit(name, unit), metric, pass, unit, Statistic::mean));
}

// Makes axes lines up to most_lines, then pictures. False: more than most_pictures.
bool distribute(const Records& records, const std::vector<std::string>& axes, PlotSpec& plot) {
  std::size_t lines = 1, pictures = 1;
  std::string title;
  for (const std::string& name : axes) {
    const std::size_t values = records.axes()[*records.axis(name)].values.size() - 1;
    if (lines * values <= most_lines) {
      lines *= values;
      plot.series.push_back(name);
    } else {
      pictures *= values;
      plot.for_each.push_back(name);
      title += (title.empty() ? "" : ", ") + name + " {" + name + "}";
    }
  }
  plot.title = *Template::parse(title);
  return pictures <= most_pictures;
}

std::optional<PlotSpec> default_plot(const Records& records, const std::string& metric) {
  const auto passes = passes_of(records, metric);
  if (passes.empty()) return std::nullopt;
  PlotSpec plot;
  std::size_t most_values = 0;
  for (std::size_t axis = std::size(series_axes); axis < records.first_derived(); ++axis) {
    const auto& candidate = records.axes()[axis];
    if (!records.varies(axis) || !numeric(candidate) || candidate.name == "repeat") continue;
    if (candidate.values.size() > most_values) {
      most_values = candidate.values.size();
      plot.x = candidate.name;
    }
  }
  if (plot.x.empty()) return std::nullopt;
  const auto& values = records.axes()[*records.axis(plot.x)].values;
  double low = HUGE_VAL, high = 0;
  for (std::size_t i = 1; i < values.size(); ++i) {
    const double number = Cell::of_value(values[i]).number;
    low = std::min(low, number);
    high = std::max(high, number);
  }
  plot.log_x = low > 0 && high / low >= 8;
  plot.log_y = plot.log_x;
  plot.y.metric = metric;
  std::vector<std::string> others;
  for (std::size_t axis = std::size(series_axes); axis < records.first_derived(); ++axis) {
    const std::string& name = records.axes()[axis].name;
    if (records.varies(axis) && name != plot.x) others.push_back(name);
  }
  if (records.sources().size() > 1) others.push_back("source");
  if (passes.size() > 1) others.push_back("pass");
  plot.where.conditions.push_back({"pass", passes});
  if (!distribute(records, others, plot)) return std::nullopt;
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

std::string fitting_unit(const Records& records, const std::string& metric) {
  std::vector<double> figures;
  std::string unit;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const store::Series& series = *records[i].series;
    if (series.metric != metric || series.outcome != Outcome::ok) continue;
    if (!series.unit.empty()) unit = series.unit;
    if (const auto mean = reduce({&series}, RankRule::maximum, Statistic::mean))
      figures.push_back(*mean);
  }
  if (figures.empty()) return unit;
  return sensible_unit(statistics::median(figures), unit);
}

ReportSpec default_spec(const Records& records) {
  ReportSpec spec;
  std::set<std::string> present;
  for (const auto& [name, unit] : records.metrics()) present.insert(name);
  TableSpec table;
  table.grid.varying_rows = true;
  if (records.sources().size() > 1) table.grid.keys.push_back("source");
  const std::string main = present.count("time") ? "time" : first_figure(records);
  const bool targets = main == "time" && had_targets(records);
  for (const std::string& pass : passes_of(records, main)) {
    const auto add_figure = targets ? add_known_median : add_spread;
    add_figure(main, pass, fitting_unit(records, main), table.grid.columns);
  }
  if (present.count("peak_memory") && main != "peak_memory") {
    for (const std::string& pass : passes_of(records, "peak_memory")) {
      add_plain("peak_memory", pass, fitting_unit(records, "peak_memory"), table.grid.columns);
    }
  }
  spec.blocks.push_back(HeadingSpec{2, "Results"});
  std::vector<Block> recorded = phase_blocks(records);
  std::ranges::move(recorded_blocks(records), std::back_inserter(recorded));
  if (table.grid.columns.empty() && !recorded.empty()) {
    // Nothing but what passes without a clock have recorded.
  } else if (table.grid.columns.empty()) {
    spec.blocks.push_back(ProseSpec{"No case of this run has a result."});
  } else {
    if (records.sources().size() > 1) {
      Column source;
      source.name = "source";
      source.content = AxisContent{"source", ""};
      table.grid.columns.insert(table.grid.columns.begin(), std::move(source));
    }
    spec.blocks.push_back(std::move(table));
    spec.blocks.push_back(ProseSpec{
        targets
            ? "Times are medians; ± is the distance to the farther end of their 95 % confidence "
              "interval."
            : "Figures are means; ± is the standard deviation of the samples."});
    if (auto plot = default_plot(records, main)) {
      if (targets) plot->y.statistic = Statistic::median;
      spec.blocks.push_back(std::move(*plot));
    }
  }
  std::ranges::move(recorded, std::back_inserter(spec.blocks));
  spec.blocks.push_back(HeadingSpec{2, "Findings"});
  FindingsSpec findings;
  for (const char* kind :
       {"speedup", "scaling", "warmup", "noise", "observers", "kernels", "failures"}) {
    FindingSpec finding;
    finding.kind = kind;
    findings.findings.push_back(std::move(finding));
  }
  spec.blocks.push_back(std::move(findings));
  std::ranges::move(file_blocks(records), std::back_inserter(spec.blocks));
  return spec;
}

}  // namespace assay::report
