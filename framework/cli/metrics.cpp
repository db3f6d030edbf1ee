#include "cli/metrics.h"

#include <algorithm>

#include "yaml/document.h"

namespace assay::cli {

namespace {

void add(const catalogue::PluginInfo& workload, std::vector<MetricInfo>& metrics) {
  for (const MetricInfo& metric : workload.metrics) {
    const bool known = std::any_of(metrics.begin(), metrics.end(), [&](const MetricInfo& other) {
      return other.name == metric.name;
    });
    if (!known) metrics.push_back(metric);
  }
}

}  // namespace

std::vector<MetricInfo> metrics_of(const catalogue::Catalogue& catalogue,
                                   std::string_view workload) {
  std::vector<MetricInfo> metrics = catalogue::common_metrics();
  if (const auto* plugin = catalogue.find("workload", workload)) add(*plugin, metrics);
  return metrics;
}

std::vector<MetricInfo> metrics_of_all(const catalogue::Catalogue& catalogue) {
  std::vector<MetricInfo> metrics = catalogue::common_metrics();
  for (const catalogue::PluginInfo* plugin : catalogue.of_kind("workload")) add(*plugin, metrics);
  return metrics;
}

std::vector<std::string> written_passes(const catalogue::Catalogue& catalogue,
                                        const std::string& experiment_text) {
  const auto experiment = yaml::parse(experiment_text, "");
  if (!experiment) return {};
  const yaml::Node* measure = experiment->find("measure");
  const yaml::Node* passes = measure ? measure->find("passes") : nullptr;
  if (passes == nullptr) {
    const yaml::Node* workload = experiment->find("workload");
    const auto* plugin = workload ? catalogue.find("workload", workload->text) : nullptr;
    return plugin ? plugin->default_passes : std::vector<std::string>();
  }
  if (passes->is_scalar()) return {passes->text};
  std::vector<std::string> names;
  for (const yaml::Node& item : passes->items) names.push_back(item.text);
  return names;
}

}  // namespace assay::cli
