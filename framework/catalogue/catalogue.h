#pragma once

// catalogue holds what the host knows of plugins without loading them, and reads the descriptors of
// external programs. It depends on yaml. Start here.

#include <assay/metric.h>
#include <assay/parameter.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace assay::catalogue {

// What a case may run on.
inline constexpr std::string_view devices[] = {"cpu", "cuda"};

// The six kinds, in the order they are listed.
inline constexpr std::string_view kinds[] = {"workload",  "attention",     "norm",
                                             "precision", "communication", "compile"};

bool is_kind(std::string_view name);

// Beside the kinds, what every result of every workload is told apart by: a workload's parameter
// cannot have such a name.
inline constexpr std::string_view taken_names[] = {
    "workload", "world_size", "nodes", "machine", "device", "backend", "repeat",
    "pass",     "part",       "rank",  "metric",  "source", "run"};
bool is_taken(std::string_view parameter);

// Everything the host knows of one plugin. The host never loads a plugin: a worker writes this.
struct PluginInfo {
  std::string kind;
  std::string name;
  std::string description;
  std::string file;  // the shared library, or the descriptor of an external one
  std::vector<ParameterInfo> parameters;  // a workload's parameters, another kind's options
  std::string memory_estimate;       // bytes, as an expression over a case's names; may be empty
  std::vector<std::string> devices;  // those it runs on; none: all

  // Workloads only.
  std::vector<std::string> uses;    // kinds it is composed with
  std::vector<std::string> passes;  // those it can run
  std::vector<std::string> default_passes;
  std::vector<MetricInfo> metrics;  // beside those every workload has
  std::string default_clock;        // on a GPU: "wall" or "cuda_event"

  // External variants only: the command (argv), resolved against the descriptor's folder.
  std::vector<std::string> command;
  std::vector<std::string> workloads;  // those it can take part in
  bool takes_turns = false;            // it waits for its turn between samples

  bool external() const { return !command.empty(); }
  bool runs_on(std::string_view device) const;
};

struct Catalogue {
  std::string fingerprint;          // of the build that wrote it
  nlohmann::json versions;          // of LibTorch, CUDA, cuDNN and NCCL, as that build sees them
  std::vector<PluginInfo> plugins;  // sorted by kind (in the order of `kinds`), then name

  const PluginInfo* find(std::string_view kind, std::string_view name) const;
  std::vector<const PluginInfo*> of_kind(std::string_view kind) const;
  // Whether its build can use CUDA.
  bool uses_cuda() const { return fingerprint.find("no CUDA") == std::string::npos; }
};

// Metrics every workload reports.
const std::vector<MetricInfo>& common_metrics();

// The metric named so, of the workload or of all workloads; nullptr where there is none.
const MetricInfo* find_metric(const PluginInfo& workload, std::string_view name);

nlohmann::json to_json(const PluginInfo& plugin);
nlohmann::json to_json(const Catalogue& catalogue);
Result<Catalogue> catalogue_from_json(const nlohmann::json& json);

// Sorts, and refuses two plugins of one kind with one name (naming both files), a device that there
// is not, and a workload with a parameter whose name is taken.
Result<Catalogue> assemble(std::string fingerprint, std::vector<PluginInfo> plugins);

// One external variant from its descriptor.
Result<PluginInfo> read_descriptor(const std::filesystem::path& file);

// External variants: every *.yaml descriptor below `folder`. A folder that does not exist holds
// none.
Result<std::vector<PluginInfo>> read_external(const std::filesystem::path& folder);

}  // namespace assay::catalogue
