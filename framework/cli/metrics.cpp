#include "cli/metrics.h"

#include <algorithm>

#include "config/host_parameters.h"
#include "config/observers.h"

namespace assay::cli {

namespace {

void add(const catalogue::PluginInfo& plugin, std::vector<MetricInfo>& metrics) {
  for (const MetricInfo& metric : plugin.metrics) {
    const bool known = std::any_of(metrics.begin(), metrics.end(), [&](const MetricInfo& other) {
      return other.name == metric.name;
    });
    if (!known) metrics.push_back(metric);
  }
}

}  // namespace

std::vector<MetricInfo> metrics_of(const catalogue::Catalogue& catalogue, std::string_view workload,
                                   const std::vector<std::string>& observers) {
  std::vector<MetricInfo> metrics = catalogue::common_metrics();
  if (const auto* plugin = catalogue.find("workload", workload)) add(*plugin, metrics);
  for (const std::string& observer : observers) {
    if (const auto* plugin = catalogue.find("observer", observer)) add(*plugin, metrics);
  }
  return metrics;
}

std::vector<std::string> observers_of(const config::Plan& plan) {
  std::vector<std::string> names;
  const auto column = plan.column(config::observe_setting);
  if (!column) return names;
  for (const Value& value : plan.columns()[*column].values) {
    for (std::string& name : config::observers_in(to_text(value))) {
      if (!std::ranges::count(names, name)) names.push_back(std::move(name));
    }
  }
  return names;
}

std::vector<std::string> all_observers(const catalogue::Catalogue& catalogue) {
  std::vector<std::string> names;
  for (const auto* plugin : catalogue.of_kind("observer")) names.push_back(plugin->name);
  return names;
}

std::vector<MetricInfo> metrics_of_all(const catalogue::Catalogue& catalogue) {
  std::vector<MetricInfo> metrics = catalogue::common_metrics();
  for (const char* kind : {"workload", "observer"}) {
    for (const catalogue::PluginInfo* plugin : catalogue.of_kind(kind)) add(*plugin, metrics);
  }
  return metrics;
}

std::vector<std::string> passes_of(const catalogue::Catalogue& catalogue,
                                   const config::Written& written) {
  if (written.passes) return *written.passes;
  const auto* plugin = catalogue.find("workload", written.workload);
  return plugin ? plugin->default_passes : std::vector<std::string>();
}

}  // namespace assay::cli
