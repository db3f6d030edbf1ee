#include "report/page/vocabulary.h"

#include <algorithm>

#include "report/data/derived_axes.h"
#include "report/page/report.h"

namespace assay::report {
namespace {

bool is_complete(const Records& records) {
  for (const store::Run* run : records.sources()) {
    if (!run->info.first.overrides.empty()) return false;
  }
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (records[i].series->outcome != Outcome::ok) return false;
  }
  return true;
}

}  // namespace

void add_written_values(const config::Written& written, Vocabulary& known) {
  for (const auto& [axis, values] : written.values) {
    for (const Value& value : values) known.add_value(axis, value);
  }
}

void add_passes(const std::vector<std::string>& passes, Vocabulary& known) {
  for (const std::string& pass : passes) {
    if (!std::ranges::count(known.passes, pass)) known.passes.push_back(pass);
  }
}

void add_derived_axes(const std::map<std::string, nlohmann::json>& presets, Vocabulary& known) {
  const auto add = [&](const std::string& name) {
    if (!known.has_axis(name)) known.axes.push_back(name);
  };
  const PresetFields fields(presets);
  for (const auto& [key, preset] : presets) {
    const std::size_t slash = key.find('/');
    for (const auto& [name, value] :
         fields.of(key.substr(0, slash), Value(key.substr(slash + 1)))) {
      add(name);
    }
  }
  for (const MetricInfo& metric : known.metrics) {
    if (metric.unit == "count") add(metric.name);
  }
}

Vocabulary vocabulary_of(const Records& records, const std::vector<Source>& sources,
                         const std::vector<MetricInfo>& metrics) {
  Vocabulary known;
  const bool complete = is_complete(records);
  for (std::size_t i = 0; i < records.axes().size(); ++i) {
    const Records::Axis& axis = records.axes()[i];
    known.axes.push_back(axis.name);
    // A case that was left out may have other values.
    if (!complete && (axis.name == "rank" || axis.name == "part")) continue;
    if (i < records.first_derived()) known.add_values(axis.name, axis.values);
  }
  for (const Source& source : sources) {
    if (source.written) add_written_values(*source.written, known);
  }
  known.passes = records.passes();
  known.metrics = metrics;
  for (const auto& [name, unit] : records.metrics()) {
    const auto metric = std::ranges::find_if(
        known.metrics, [&](const MetricInfo& info) { return info.name == name; });
    const MetricKind kind = records.is_text(name) ? MetricKind::text : MetricKind::number;
    if (metric == known.metrics.end()) {
      known.metrics.push_back({name, unit, Direction::lower_is_better, "", "", kind});
    } else if (kind == MetricKind::text) {
      metric->kind = kind;
    }
  }
  known.lanes.assign(records.lanes().begin(), records.lanes().end());
  return known;
}

}  // namespace assay::report
