#include "report/page/vocabulary.h"

#include <algorithm>

#include "report/page/report.h"
#include "yaml/values.h"

namespace assay::report {
namespace {

using yaml::Node;

// `{flash: {block_m: [64, 128]}}` on the axis attention gives it flash, and attention.block_m both.
void add_values(const std::string& axis, const Node& node, Vocabulary& known) {
  if (node.is_scalar()) known.add_value(axis, yaml::to_value(node));
  for (const Node& item : node.items) add_values(axis, item, known);
  for (const auto& [name, options] : node.entries) {
    known.add_value(axis, yaml::to_value(name));
    for (const auto& [option, value] : options.entries) {
      add_values(axis + "." + option.text, value, known);
    }
  }
}

void add_section(const Node& section, const std::string& prefix, Vocabulary& known) {
  for (const auto& [name, value] : section.entries) add_values(prefix + name.text, value, known);
  for (const Node& item : section.items) add_section(item, prefix, known);
}

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

void add_written_values(const std::string& experiment_text, Vocabulary& known) {
  const auto experiment = yaml::parse(experiment_text, "");
  if (!experiment) return;
  for (const char* name : {"matrix", "fixed", "include", "measure"}) {
    const Node* section = experiment->find(name);
    if (section) add_section(*section, name == std::string("measure") ? "measure." : "", known);
  }
}

void add_passes(const std::vector<std::string>& passes, Vocabulary& known) {
  for (const std::string& pass : passes) {
    if (!std::ranges::count(known.passes, pass)) known.passes.push_back(pass);
  }
}

Vocabulary vocabulary_of_records(const Records& records, const std::vector<MetricInfo>& metrics) {
  Vocabulary known;
  const bool complete = is_complete(records);
  for (const Records::Axis& axis : records.axes()) {
    known.axes.push_back(axis.name);
    if (!complete && (axis.name == "rank" || axis.name == "part")) continue;
    known.add_values(axis.name, axis.values);
  }
  for (const store::Run* run : records.sources()) {
    add_written_values(run->info.first.experiment_text, known);
  }
  known.passes = records.passes();
  known.metrics = metrics;
  for (const auto& [name, unit] : records.metrics()) {
    if (!known.metric(name)) known.metrics.push_back({name, unit, Direction::lower_is_better, ""});
  }
  return known;
}

Vocabulary vocabulary_of(const std::vector<const store::Run*>& sources,
                         const std::vector<MetricInfo>& metrics) {
  return vocabulary_of_records(Records(sources), metrics);
}

}  // namespace assay::report
