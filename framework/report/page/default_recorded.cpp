#include "report/page/default_recorded.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "report/page/default_spec.h"
#include "report/picture/timeline.h"
#include "report/spec/units.h"
#include "report/table/table.h"

namespace assay::report {
namespace {

constexpr std::size_t most_rows = 60;
constexpr const char* calls_setting = "measure.calls_per_sample";

bool measures_phases(const Records& records) {
  const auto axis = records.axis("measure.phases");
  if (!axis) return false;
  const auto& values = records.axes()[*axis].values;
  return std::find(values.begin(), values.end(), Value(true)) != values.end();
}

bool calls_are_one(const Records& records) {
  const auto axis = records.axis(calls_setting);
  if (!axis) return true;
  const auto& values = records.axes()[*axis].values;
  return std::all_of(values.begin() + 1, values.end(),
                     [](const Value& value) { return value == Value(std::int64_t{1}); });
}

// Of the metric, but for the whole pass; in the order they appear.
std::vector<std::string> parts_of(const Records& records, const std::string& metric) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const store::Series& series = *records[i].series;
    if (series.metric == metric && !series.part.empty() &&
        !std::count(parts.begin(), parts.end(), series.part)) {
      parts.push_back(series.part);
    }
  }
  return parts;
}

std::string unit_among_parts(const Records& records, const std::string& metric) {
  const std::string unit = fitting_unit(records, metric);
  return unit == "count" ? "" : unit;
}

Column recorded_column(const Records& records, const std::string& metric, Filter where) {
  Column column;
  Measure measure;
  measure.metric = metric;
  measure.where = std::move(where);
  if (!records.is_text(metric)) measure.unit = unit_among_parts(records, metric);
  column.name = measure.unit.empty() ? metric : fmt::format("{} [{}]", metric, measure.unit);
  column.content = std::move(measure);
  return column;
}

TableSpec table_by_part(const Records& records, std::vector<Column> columns) {
  TableSpec table;
  table.grid.varying_rows = true;
  table.grid.columns = std::move(columns);
  default_rows(records, table.grid);
  std::vector<std::string> axes;
  if (records.sources().size() > 1) axes.emplace_back("source");
  axes.insert(axes.end(), {"pass", "part"});
  add_axis_columns(axes, table.grid);
  return table;
}

std::vector<std::string> all_untimed_passes(const Records& records) {
  std::vector<std::string> passes;
  for (const store::Run* run : records.sources()) {
    for (const std::string& pass : untimed_passes(*run)) {
      if (!std::count(passes.begin(), passes.end(), pass)) passes.push_back(pass);
    }
  }
  return passes;
}

std::vector<std::string> metrics_in(const Records& records, const std::string& pass) {
  std::vector<std::string> metrics;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const store::Series& series = *records[i].series;
    const std::string& metric = series.metric;
    if (series.pass != pass || metric.empty() || metric == span_start || metric == span_end ||
        metric == sample_time || metric == "observed_time") {
      continue;
    }
    if (!std::count(metrics.begin(), metrics.end(), metric)) metrics.push_back(metric);
  }
  return metrics;
}

std::size_t rows_of_pass(const Records& records, const std::string& pass) {
  std::set<std::pair<std::uint32_t, std::string>> rows;  // case and part
  for (std::size_t i = 0; i < records.size(); ++i) {
    const store::Series& series = *records[i].series;
    if (series.pass == pass && !series.metric.empty()) {
      rows.insert({records[i].case_number, series.part});
    }
  }
  return rows.size();
}

}  // namespace

std::vector<std::string> untimed_passes(const store::Run& run) {
  std::vector<std::string> planned;
  std::set<std::string> timed;
  for (const store::CaseResult& result : run.cases) {
    for (const store::Series& series : result.series) {
      const bool failed = series.outcome != Outcome::ok && series.metric != "observed_time";
      if (series.metric == "time" || failed) timed.insert(series.pass);
    }
    if (result.outcome != Outcome::ok || !result.facts.passes) continue;
    for (const std::string& pass : *result.facts.passes) {
      if (!std::count(planned.begin(), planned.end(), pass)) planned.push_back(pass);
    }
  }
  std::erase_if(planned, [&](const std::string& pass) { return timed.contains(pass); });
  return planned;
}

bool has_metric(const Records& records, std::string_view metric) {
  return std::any_of(records.metrics().begin(), records.metrics().end(),
                     [&](const auto& known) { return known.first == metric; });
}

std::vector<Block> phase_blocks(const Records& records) {
  const std::vector<std::string> phases = parts_of(records, "time");
  if (!measures_phases(records) || phases.empty()) return {};
  Filter where;
  where.conditions.push_back({"part", phases});
  std::vector<Column> columns{recorded_column(records, "time", where)};
  Column share;
  share.name = "share";
  Measure of_pass;
  of_pass.metric = "time";
  of_pass.where = where;
  of_pass.relative_to.emplace().conditions.push_back({"part", {""}});
  share.content = std::move(of_pass);
  share.format = *parse_format("{:.1%}");
  // A phase is of one call, a sample of several.
  const bool one_call = calls_are_one(records);
  if (!one_call) {
    share.name = "of_sample";
    share.shown = false;
  }
  columns.push_back(std::move(share));
  if (!one_call) {
    Column scaled;
    scaled.name = "share";
    scaled.content =
        ExpressionContent{*Expression::compile(fmt::format("of_sample * {}", calls_setting)), ""};
    scaled.format = *parse_format("{:.1%}");
    columns.push_back(std::move(scaled));
  }
  for (const char* metric : {"memory_before", "peak_memory"}) {
    if (!parts_of(records, metric).empty()) {
      columns.push_back(recorded_column(records, metric, where));
    }
  }
  TableSpec table = table_by_part(records, std::move(columns));
  if (!one_call) table.grid.add_key(calls_setting);
  return {HeadingSpec{3, "Phases"}, std::move(table),
          ProseSpec{"A share is of the time of the whole pass."}};
}

std::vector<Block> recorded_blocks(const Records& records) {
  std::vector<Block> blocks;
  for (const std::string& pass : all_untimed_passes(records)) {
    const std::vector<std::string> metrics = metrics_in(records, pass);
    blocks.emplace_back(HeadingSpec{3, pass});
    blocks.emplace_back(ProseSpec{"Not timed: run once and recorded."});
    if (metrics.empty()) continue;
    Filter where;
    where.conditions.push_back({"pass", {pass}});
    std::vector<Column> columns;
    for (const std::string& metric : metrics) {
      Filter any_part = where;
      columns.push_back(recorded_column(records, metric, std::move(any_part)));
    }
    TableSpec table = table_by_part(records, std::move(columns));
    table.grid.where = where;
    table.grid.limit = most_rows;
    table.grid.reasons = false;
    blocks.emplace_back(std::move(table));
    const std::size_t rows = rows_of_pass(records, pass);
    if (rows <= most_rows) continue;
    blocks.emplace_back(
        ProseSpec{fmt::format("These are {} of {} rows; a table of the experiment's own report, or "
                              "`assay export`, has all.",
                              most_rows, rows)});
  }
  return blocks;
}

std::vector<Block> file_blocks(const Records& records) {
  const auto leaves_files = [](const store::Run* run) {
    return std::any_of(run->cases.begin(), run->cases.end(),
                       [](const store::CaseResult& result) { return !result.artefacts.empty(); });
  };
  const auto& sources = records.sources();
  if (std::none_of(sources.begin(), sources.end(), leaves_files)) return {};
  return {HeadingSpec{2, "Files"}, ArtefactsSpec{}};
}

}  // namespace assay::report
