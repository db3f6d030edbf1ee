#include "cli/metrics.h"

#include <algorithm>

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

std::vector<std::string> passes_of(const catalogue::Catalogue& catalogue,
                                   const config::Written& written) {
  if (written.passes) return *written.passes;
  const auto* plugin = catalogue.find("workload", written.workload);
  return plugin ? plugin->default_passes : std::vector<std::string>();
}

}  // namespace assay::cli
