#include "catalogue/catalogue.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "catalogue/compiled.h"
#include "catalogue/names.h"

namespace assay::catalogue {

namespace {

std::size_t kind_order(std::string_view kind) {
  return static_cast<std::size_t>(std::find(std::begin(kinds), std::end(kinds), kind) -
                                  std::begin(kinds));
}

}  // namespace

bool is_kind(std::string_view name) { return kind_order(name) < std::size(kinds); }

bool is_taken(std::string_view parameter) {
  return is_kind(parameter) || std::find(std::begin(taken_names), std::end(taken_names),
                                         parameter) != std::end(taken_names);
}

bool PluginInfo::runs_on(std::string_view device) const {
  return devices.empty() || std::find(devices.begin(), devices.end(), device) != devices.end();
}

const PluginInfo* Catalogue::find(std::string_view kind, std::string_view name) const {
  for (const PluginInfo& plugin : plugins) {
    if (plugin.kind == kind && plugin.name == name) return &plugin;
  }
  return nullptr;
}

std::vector<const PluginInfo*> Catalogue::of_kind(std::string_view kind) const {
  std::vector<const PluginInfo*> found;
  for (const PluginInfo& plugin : plugins) {
    if (plugin.kind == kind) found.push_back(&plugin);
  }
  return found;
}

const std::vector<MetricInfo>& common_metrics() {
  static const std::vector<MetricInfo> metrics = {
      {"time", "s", Direction::lower_is_better, "Time of one sample of a pass.", {}},
      {"first_call_time",
       "s",
       Direction::lower_is_better,
       "Time of the first call of a pass in its case, with module loading, autotuning, and the "
       "preparation and capture by the compile variant and the clock.",
       {}},
      {"startup_time",
       "s",
       Direction::lower_is_better,
       "What a case spends until its first call has ended, by stage: process, rendezvous, "
       "communicator, building, first call. With measure.isolation alone.",
       {}},
      {"total_time", "s", Direction::lower_is_better,
       "From the start of a rank's process until its first call has ended.", "sum of startup_time"},
      {"memory_before",
       "byte",
       Direction::lower_is_better,
       "Memory allocated on the device just before a call of the pass.",
       {}},
      {"peak_memory",
       "byte",
       Direction::lower_is_better,
       "Most memory allocated on the device at any moment of a call of the pass.",
       {}},
      {"observed_time",
       "s",
       Direction::neither,
       "Time of one call of a pass while an observer, its part, was on.",
       {}},
      {"span_start",
       "s",
       Direction::neither,
       "When each span of a part began, from the case's beginning.",
       {}},
      {"span_end",
       "s",
       Direction::neither,
       "When each span of a part ended, from the case's beginning.",
       {}},
      {"communication_time",
       "s",
       Direction::lower_is_better,
       "How long some collective of a group of ranks, its part, was under way in a call.",
       {}},
      {"exposed_communication",
       "s",
       Direction::lower_is_better,
       "How long a call waited for a group's collectives: its stream on a GPU, the host on a CPU.",
       {}},
      {"hidden_communication", "", Direction::higher_is_better,
       "Share of the time of a group's collectives in which the step went on.",
       "1 - exposed_communication / communication_time"},
      {"error", "", Direction::lower_is_better,
       "Relative error of the worst output against the reference in higher precision.",
       "max over outputs of ‖out − reference‖ / ‖reference‖"},
      {"timed_error", "", Direction::lower_is_better,
       "Relative error of the worst output of the timed calls that were looked at.",
       "max over looks and outputs of ‖out − reference‖ / ‖reference‖"},
      {"error_ratio", "", Direction::lower_is_better,
       "timed_error over that of textbook operations in the same dtype.",
       "‖out − reference‖ / ‖textbook − reference‖"},
      {"gradient_size",
       "byte",
       Direction::neither,
       "Bytes that a rank's all-reduces sum in a step; of the fastest of several bucket sizes, as "
       "the next four.",
       {}},
      {"call_overhead",
       "s",
       Direction::neither,
       "What an all-reduce costs beside its bytes, from all-reduces measured apart.",
       {}},
      {"bandwidth",
       "byte/s",
       Direction::neither,
       "Bytes a second of such all-reduces, without that.",
       {}},
      {"best_bucket_size",
       "byte",
       Direction::neither,
       "The bucket size whose step is the fastest.",
       {}},
      {"best_bucket_exposed",
       "s",
       Direction::lower_is_better,
       "What its step waits for communication.",
       {}},
  };
  return metrics;
}

const MetricInfo* find_metric(const PluginInfo& workload, std::string_view name) {
  const auto named = [&](const MetricInfo& metric) { return metric.name == name; };
  for (const std::vector<MetricInfo>* list : {&workload.metrics, &common_metrics()}) {
    const auto found = std::find_if(list->begin(), list->end(), named);
    if (found != list->end()) return &*found;
  }
  return nullptr;
}

Result<Catalogue> assemble(std::string fingerprint, std::vector<PluginInfo> plugins) {
  std::sort(plugins.begin(), plugins.end(), [](const PluginInfo& a, const PluginInfo& b) {
    return std::pair(kind_order(a.kind), a.name) < std::pair(kind_order(b.kind), b.name);
  });
  Error error;
  for (std::size_t i = 1; i < plugins.size(); ++i) {
    const PluginInfo& a = plugins[i - 1];
    const PluginInfo& b = plugins[i];
    if (a.kind == b.kind && a.name == b.name) {
      error.diagnostics.push_back(
          {{b.file},
           fmt::format("{} '{}' is already the name of a plugin in {}", b.kind, b.name, a.file),
           "rename one of them or remove one of the files"});
    }
  }
  for (const PluginInfo& plugin : plugins) {
    if (is_plugin_name(plugin.name)) continue;
    error.diagnostics.push_back({{plugin.file},
                                 fmt::format("'{}' cannot name a {}", plugin.name, plugin.kind),
                                 plugin_name_rule});
  }
  for (const PluginInfo& plugin : plugins) {
    for (const std::string& device : plugin.devices) {
      if (std::find(std::begin(devices), std::end(devices), device) != std::end(devices)) continue;
      error.diagnostics.push_back(
          {{plugin.file},
           fmt::format("{} '{}' runs on '{}', which is no device{}", plugin.kind, plugin.name,
                       device, suggestion(device, {std::begin(devices), std::end(devices)})),
           "devices: cpu, cuda"});
    }
  }
  for (const PluginInfo& plugin : plugins) {
    if (plugin.kind != "workload") continue;
    for (const ParameterInfo& parameter : plugin.parameters) {
      if (!is_taken(parameter.name)) continue;
      error.diagnostics.push_back(
          {{plugin.file},
           fmt::format(
               "workload '{}' has a parameter '{}', which is already a name of every result",
               plugin.name, parameter.name),
           "rename the parameter"});
    }
  }
  for (const PluginInfo& plugin : plugins) check_compiled(plugin, error);
  if (!error.diagnostics.empty()) return tl::unexpected(std::move(error));
  return Catalogue{std::move(fingerprint), {}, std::move(plugins)};
}

}  // namespace assay::catalogue
