#pragma once

// catalogue describes plugins to the host, which never loads them, and reads the descriptors of
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

inline constexpr std::string_view devices[] = {"cpu", "cuda"};

// In the order of listings.
inline constexpr std::string_view kinds[] = {"workload",      "attention", "norm",    "precision",
                                             "communication", "compile",   "observer"};

bool is_kind(std::string_view name);

// Names of every result beside the kinds; a workload's parameter cannot have one.
inline constexpr std::string_view taken_names[] = {
    "workload", "world_size", "nodes", "machine", "device", "backend", "repeat",
    "pass",     "part",       "rank",  "metric",  "source", "run"};
bool is_taken(std::string_view parameter);

struct PluginInfo {
  std::string kind;
  std::string name;
  std::string description;
  std::string file;                       // the shared library, or an external variant's descriptor
  std::vector<ParameterInfo> parameters;  // a workload's parameters, another kind's options
  std::string memory_estimate;       // bytes, as an expression over a case's names; may be empty
  std::vector<std::string> devices;  // empty: all

  // Workloads only.
  std::string look_memory_estimate;  // bytes that a look takes beside the case; may be empty
  std::vector<std::string> uses;     // kinds
  std::vector<std::string> passes;
  std::vector<std::string> default_passes;
  std::vector<std::string> unclocked;  // of the passes: run and recorded, not timed
  std::string default_clock;           // on a GPU: "wall" or "cuda_event"

  // Workloads and observers.
  std::vector<MetricInfo> metrics;  // beside common_metrics()

  // External variants only.
  std::vector<std::string> command;    // argv, resolved against the descriptor's folder
  std::vector<std::string> workloads;  // empty: all
  bool takes_turns = false;            // it waits for its turn between samples

  bool external() const { return !command.empty(); }
  bool runs_on(std::string_view device) const;
};

struct Catalogue {
  std::string fingerprint;          // of the build that wrote it
  nlohmann::json versions;          // of LibTorch, CUDA, cuDNN and NCCL in that build
  std::vector<PluginInfo> plugins;  // sorted by kind (in the order of `kinds`), then name

  const PluginInfo* find(std::string_view kind, std::string_view name) const;
  std::vector<const PluginInfo*> of_kind(std::string_view kind) const;
  bool uses_cuda() const { return fingerprint.find("no CUDA") == std::string::npos; }
};

const std::vector<MetricInfo>& common_metrics();

// The workload's metric or the common one; nullptr for an unknown name.
const MetricInfo* find_metric(const PluginInfo& workload, std::string_view name);

nlohmann::json to_json(const PluginInfo& plugin);
nlohmann::json to_json(const Catalogue& catalogue);
Result<Catalogue> catalogue_from_json(const nlohmann::json& json);

// Sorts the plugins. Refuses two with the same kind and name, an unknown device, a workload's
// parameter with a taken name, and an option that is compiled with a value that it does not allow.
Result<Catalogue> assemble(std::string fingerprint, std::vector<PluginInfo> plugins);

Result<PluginInfo> read_descriptor(const std::filesystem::path& file);

// Reads every *.yaml descriptor in `folder`, which may be missing.
Result<std::vector<PluginInfo>> read_external(const std::filesystem::path& folder);

}  // namespace assay::catalogue
